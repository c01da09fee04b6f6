# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Makes the Debian tree that builds, runs QEMU and is the guests' root file system.

tree_dir=$VPEER_LAB_DIR/root

tree_sources() {
	apt_sources "$lab_suite"
	echo "deb $(apt_mirror) $lab_suite-backports main"
}

# QEMU with SR-IOV for virtio and a DMA-remapping amd-iommu is in backports only.
tree_preferences() {
	cat <<-END
		Package: src:qemu src:seabios
		Pin: release n=$lab_suite-backports
		Pin-Priority: 900
	END
}

tree_hash() {
	{ echo "$lab_suite"; tree_preferences; packages_all; tree_options; } | lab_hash
}

# The kernel package's hook would make an initramfs that no guest boots from.
tree_options() {
	cat <<-'END'
		--aptopt=Acquire::Languages "none"
		--aptopt=APT::Install-Recommends "false"
		--dpkgopt=path-exclude=/usr/share/doc/*
		--dpkgopt=path-exclude=/usr/share/man/*
		--dpkgopt=path-exclude=/usr/share/info/*
		--dpkgopt=path-exclude=/usr/share/locale/*
		--dpkgopt=path-exclude=/etc/kernel/postinst.d/initramfs-tools
	END
}

tree_make() {
	local made=$1 options preferences

	apt_prepare_machine
	preferences=$VPEER_LAB_DIR/cache/preferences
	tree_preferences >"$preferences"
	mapfile -t options < <(tree_options)
	tree_sources | apt_make_tree \
		"${options[@]}" --include="$(packages_all)" \
		--setup-hook="mkdir -p \"\$1/etc/apt/preferences.d\"" \
		--setup-hook="cp '$preferences' \"\$1/etc/apt/preferences.d/vpeer-lab\"" \
		"$lab_suite" "$made" -
}

tree_setup() {
	lab_make_once tree "$tree_dir" "$(tree_hash)" "Debian tree" tree_make
}
