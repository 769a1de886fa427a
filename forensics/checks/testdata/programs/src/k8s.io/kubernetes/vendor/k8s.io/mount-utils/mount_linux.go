// Package mount asks for mount points.
package mount

import (
	"os"
	"os/exec"
)

// Mounter is the plain one.
type Mounter struct{ calls int }

// IsLikelyNotMountPoint asks with stat.
func (mounter *Mounter) IsLikelyNotMountPoint(file string) (bool, error) {
	stat, err := os.Stat(file)
	if err != nil {
		return true, err
	}
	mounter.calls++
	return !stat.IsDir(), nil
}

// PathExists asks with stat.
func PathExists(path string) (bool, error) {
	_, err := os.Stat(path)
	if err == nil {
		return true, nil
	}
	return !os.IsNotExist(err), err
}

// Unmount runs a command that does not return while this program lives: cat, whose input nobody writes.
func (mounter *Mounter) Unmount(target string, started func(pid int)) error {
	command := exec.Command("cat", "-u")
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	defer input.Close()
	if err := command.Start(); err != nil {
		return err
	}
	started(command.Process.Pid)
	err = command.Wait()
	mounter.calls++
	return err
}
