// Command image writes the image of nodeforensics as an OCI archive, for amd64 and arm64, without a daemon:
//
//	go run -C examples/image . nodeforensics.tar
//
// The image has one file, /nodeforensics, and no other: no shell, no library, no user database. Its command is "nodeforensics wait".
// The same sources and the same Go give the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	name := flag.String("name", "localhost/nodeforensics:latest", "`NAME` of the image in the archive")
	version := flag.String("version", "", "`VERSION` that the program prints (default: that of its module)")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run -C examples/image . [-name NAME] [-version VERSION] FILE.tar")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), *name, *version); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run builds the program for each architecture and writes the archive.
func run(file, name, version string) error {
	dir, err := os.MkdirTemp("", "nodeforensics-image")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		binary := filepath.Join(dir, arch)
		if err := build(binary, arch, version); err != nil {
			return err
		}
		image, err := imageOf(binary, arch)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	oci, err := layout.Write(filepath.Join(dir, "oci"), empty.Index)
	if err != nil {
		return err
	}
	if err := oci.AppendIndex(index, layout.WithAnnotations(map[string]string{ // containerd and podman; skopeo and crane
		"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name,
	})); err != nil {
		return err
	}
	return archive(file, string(oci))
}

// build makes the static program. The main module is two directories above.
func build(binary, arch, version string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.version="+version, "-o", binary, "./cmd/nodeforensics")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOWORK=off")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// imageOf is an image with one layer, which has the program.
func imageOf(binary, arch string) (v1.Image, error) {
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	w := tar.NewWriter(&content)
	if err := w.WriteHeader(&tar.Header{Name: "nodeforensics", Mode: 0o755, Size: int64(len(program))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, withRootFS(image, &v1.ConfigFile{
		OS: "linux", Architecture: arch,
		Config: v1.Config{Entrypoint: []string{"/nodeforensics"}, Cmd: []string{"wait"}},
	}))
}

// withRootFS keeps the layers that an image has.
func withRootFS(image v1.Image, config *v1.ConfigFile) *v1.ConfigFile {
	if have, err := image.ConfigFile(); err == nil {
		config.RootFS = have.RootFS
	}
	return config
}

// archive puts a directory into a tar file, in the order of names.
func archive(file, dir string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
	}()
	w := tar.NewWriter(out)
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return w.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755})
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}
