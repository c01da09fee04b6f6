# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Keys for module signatures: one that the guest's UEFI firmware has in its db, one it never heard of.

sign_dir=$VPEER_LAB_DIR/keys

sign_hash() {
	{ cat "$lab_lib/sign-keys"; tree_hash; } | lab_hash
}

sign_make_keys() {
	mkdir -p "$1"
	"$lab_lib/enter" --layer "$tree_dir" --bind-to "$lab_lib" /.lab --bind-to "$1" /made -- \
		/.lab/sign-keys /made
}

sign_setup() {
	lab_make_once keys "$sign_dir" "$(sign_hash)" "signing keys" sign_make_keys
}

# Makes a layer for this run's guest in which vpeer.ko is signed, at $run_dir/signed.
sign_module() {
	local key=$1 release updates
	release=$(kernel_release "$opt_kernel")
	updates=usr/lib/modules/$release/updates

	[ -f "$stage/root/$updates/vpeer.ko" ] ||
		lab_die "--sign $key needs vpeer.ko, and the build made none"
	mkdir -p "$run_dir/signed/$updates"
	cp "$stage/root/$updates/vpeer.ko" "$run_dir/signed/$updates/"
	sign_enter "/usr/lib/modules/$release/build/scripts/sign-file" sha256 \
		"/keys/$key.key" "/keys/$key.crt" "/signed/$updates/vpeer.ko" ||
		lab_die "could not sign vpeer.ko with the key $key"
}

sign_enter() {
	local layers=() layer

	while read -r layer; do
		layers+=(--layer "$layer")
	done < <(kernel_layers "$opt_kernel")
	"$lab_lib/enter" "${layers[@]}" --bind-to "$sign_dir" /keys \
		--bind-to "$run_dir/signed" /signed -- "$@"
}

# The firmware's variables, with the lab's key enrolled in db.
sign_firmware() {
	cp "$sign_dir/variables.fd" "$run_dir/variables.fd"
}
