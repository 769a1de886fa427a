//go:build download

package testvm

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// A module is a file of the kernel's, and what to load it with.
type module struct{ path, params string }

// findModules finds modules and what they depend on, in an order in which they can be loaded. Some may be built in: those
// that are not there are passed over if something else needs them, and are an error if they were asked for.
func findModules(dir string, wanted []string) ([]module, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if name, ok := strings.CutSuffix(filepath.Base(path), ".ko"); ok {
			files[moduleName(name)] = path
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var list []module
	seen := map[string]bool{}
	var add func(name, params string) error
	add = func(name, params string) error {
		path := files[moduleName(name)]
		if path == "" || seen[path] {
			return nil
		}
		seen[path] = true
		needs, err := dependencies(path)
		if err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
		for _, need := range needs {
			if err := add(need, ""); err != nil {
				return err
			}
		}
		list = append(list, module{path, params})
		return nil
	}
	for _, want := range wanted {
		name, params, _ := strings.Cut(want, " ")
		if files[moduleName(name)] == "" {
			return nil, fmt.Errorf("module %s: the kernel has none", name)
		}
		if err := add(name, params); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// moduleName is a name as the kernel writes it.
func moduleName(file string) string { return strings.ReplaceAll(file, "-", "_") }

// dependencies reads a module's own "depends=a,b".
func dependencies(path string) ([]string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	section := file.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no .modinfo")
	}
	data, err := section.Data()
	if err != nil {
		return nil, err
	}
	for field := range strings.SplitSeq(string(data), "\x00") {
		if list, ok := strings.CutPrefix(field, "depends="); ok {
			return strings.FieldsFunc(list, func(r rune) bool { return r == ',' }), nil
		}
	}
	return nil, nil
}
