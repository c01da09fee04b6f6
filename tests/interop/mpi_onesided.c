// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open MPI, one-sided: a put and a get between windows (of vpeer) that are windows (of MPI) of two ranks.
 * usage: mpirun -n 2 mpi_onesided PCI FILE
 */
#include <stdio.h>
#include <string.h>

#include <mpi.h>

#include "memory.h"

static void put_and_get(struct memory *memory, MPI_Win win)
{
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
	MPI_Put(memory->address, HALF, MPI_BYTE, 1, HALF, HALF, MPI_BYTE, win);
	MPI_Get(memory->address + HALF, HALF, MPI_BYTE, 1, 0, HALF, MPI_BYTE, win);
	MPI_Win_unlock(1, win);
}

int main(int argc, char **argv)
{
	struct memory memory;
	int rank, size;
	MPI_Win win;

	if (argc != 3)
		die("usage: mpi_onesided PCI FILE");
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 2)
		die("%d ranks instead of 2", size);
	memory_take(&memory, argv[1], (unsigned int)rank);
	memory_fill(&memory, argv[2], rank ? HALF : 0);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (MPI_Win_create(memory.address, SIZE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win))
		die("MPI_Win_create: refused");
	if (rank == 0)
		put_and_get(&memory, win);
	MPI_Win_free(&win);
	MPI_Finalize();
	return 0;
}
