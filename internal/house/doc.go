// Package house keeps the layout of the module: its tests say which package may lean on which, how much a package may
// export, and that each says what it is for. It has no code of its own. CONTRIBUTING.md tells where a line belongs.
package house
