#!/usr/bin/env bash
# Fetches what a virtual machine of package testvm is made of: fetch.sh DIR SUITE ARCH PACKAGE...
#
# DIR/kernel gets the kernel of a Debian suite (vmlinuz and modules/), DIR/root the packages and all that they depend on,
# unpacked. Nothing is installed, no script of a package runs, and root is not needed. The machine has to be a Debian, of
# whatever suite: the sources are its own, with the name of the suite replaced. If DIR is there it is left as it is;
# remove it to get newer packages.
set -euo pipefail

readonly dir=$1 suite=$2 arch=$3
shift 3

# What no test reads: documentation, translations, and the interpreters that maintenance scripts are for.
readonly unwanted=(
	'./usr/share/doc*' './usr/share/man' './usr/share/info' './usr/share/locale' './usr/share/lintian' './usr/share/perl*'
	'./usr/share/python*' './usr/lib/python*' './usr/lib/*/perl*' './usr/lib/*/gconv' './usr/bin/perl*' './usr/bin/python*'
	'./lib/udev' './usr/lib/udev' './var/cache'
)

main() {
	exec 9>"$dir.lock"
	flock 9 # one of several test binaries fetches, the others wait for it
	[[ ! -e $dir ]] || return 0
	rm -rf "$dir.new"
	mkdir -p "$dir.new"/{apt/lists/partial,debs/partial,kernel,root/usr/{bin,sbin,lib,lib64}}
	dir_new=$(realpath "$dir.new")
	trap 'rm -rf "$dir_new"' EXIT
	write_sources
	apt update
	get_kernel
	get_packages "$@"
	rm -rf "$dir_new"/{apt,debs,kernel.*,lock*,status}
	mv "$dir_new" "$dir"
}

# write_sources copies those of this machine that name its suite.
write_sources() {
	local own file
	# shellcheck source=/dev/null
	own=$(. /etc/os-release && echo "${VERSION_CODENAME:?not a Debian release}")
	mkdir "$dir_new/apt/sources"
	for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
		if [[ -r $file ]] && grep -qE "(^|[[:space:]])$own([[:space:]]|\$)" "$file"; then
			sed -E "s/([[:space:]])$own/\\1$suite/g" "$file" >"$dir_new/apt/sources/$(basename "$file")"
		fi
	done
	: >"$dir_new/status" # apt is to think that nothing is installed
}

apt() {
	apt-get -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir_new/apt/sources" \
		-o Dir::State::Lists="$dir_new/apt/lists" -o Dir::State::Status="$dir_new/status" \
		-o Dir::Cache="$dir_new/apt" -o Dir::Cache::Archives="$dir_new/debs" \
		-o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Default-Release="$suite" -o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none "$@" </dev/null >/dev/null
}

# get_kernel takes the one for virtual machines: a third of the size, and the file systems and disks are all in it.
get_kernel() {
	local unpacked=$dir_new/kernel.deb
	shopt -s nullglob # the modules are below /lib or, since Debian 13, /usr/lib
	mkdir "$unpacked"
	apt install --download-only --yes --no-install-recommends "linux-image-cloud-$arch"
	dpkg-deb --extract "$dir_new"/debs/linux-image-[0-9]*.deb "$unpacked"
	mv "$unpacked"/boot/vmlinuz-* "$dir_new/kernel/vmlinuz"
	mv "$unpacked"/{,usr/}lib/modules/*/kernel "$dir_new/kernel/modules"
	find "$dir_new/kernel/modules" -name '*.xz' -exec xz --decompress --threads=0 {} +
	rm "$dir_new"/debs/*.deb
}

get_packages() {
	local deb link
	apt install --download-only --yes --no-install-recommends "$@"
	for link in bin sbin lib lib64; do
		ln -s "usr/$link" "$dir_new/root/$link"
	done
	for deb in "$dir_new"/debs/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar --extract --keep-directory-symlink --no-same-owner --wildcards "${unwanted[@]/#/--exclude=}" --directory "$dir_new/root"
	done
}

main "$@"
