// Package live reads what container runtimes left on a host, and asks a runtime that runs whether it answers.
//
//   - [Read] reads sandboxes, containers and images from the files of containerd, CRI-O and Docker, never through a daemon.
//   - [FindStore] tells where a runtime keeps its data: as its flags say (--root), its configuration (config.toml, storage.conf(5),
//     daemon.json), or by default.
//   - [ReadCgroups] finds the cgroups of pods, of version 1, 2 and both at once.
//   - [Ask] calls the cheapest method of the container runtime interface, over a socket of which it is proven who listens.
//
// The files are meta.db, the bundles of tasks and the status of the CRI plugin of containerd; containers.json, images.json,
// layers.json and userdata/ of CRI-O with containers/storage; config.v2.json, imagedb and layerdb of Docker, and the checkpoints
// of cri-dockerd and dockershim; config.toml, crio.conf, storage.conf and daemon.json; cgroups(7), and the kernel's
// Documentation/admin-guide/cgroup-v2.rst. Trees were recorded from containerd 1.6.20 and Docker 20.10.24, and written after
// the formats of CRI-O 1.28 and Docker 24. The question is RuntimeService/Version of cri-api, runtime/v1 and runtime/v1alpha2.
package live
