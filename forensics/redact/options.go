package redact

import "strings"

// Options masks secrets in mount options ("rw,password=x,vers=3.0"). The names of files that hold a secret stay, and so do
// user names.
func (r *Redactor) Options(where, options string) string {
	return r.options(where, options, newFuel(options))
}

func (r *Redactor) options(where, options string, fuel *int) string {
	if len(options) > fieldBudget {
		return r.text(where, options, fuel)
	}
	list := strings.Split(options, ",")
	masked := make([]string, 0, len(list))
	for i := 0; i < len(list); i++ {
		name, value, assigned := strings.Cut(list[i], "=")
		switch {
		case !assigned:
		case isOptionSecret(name) && !isPath(value):
			// A comma may be part of a password: what follows and is no option belongs to it.
			rest := i + 1
			for rest < len(list) && !strings.Contains(list[rest], "=") && !contains(mountFlags, list[rest]) && list[rest] != "" {
				rest++
			}
			secret := strings.Join(list[i:rest], ",")[len(name)+1:]
			list[rest-1] = name + "=" + r.mask(where, "option", secret)
			i = rest - 1
		case strings.EqualFold(name, "user") || strings.EqualFold(name, "username"): // cifs: user%password
			if user, password, ok := strings.Cut(value, "%"); ok {
				list[i] = name + "=" + user + "%" + r.mask(where, "option", password)
			}
		}
		masked = append(masked, list[i])
	}
	return r.text(where, strings.Join(masked, ","), fuel)
}

// isOptionSecret also knows ceph's key, which is "key" and nothing more.
func isOptionSecret(name string) bool {
	return len(name) < reach && (secretName(name) || isKeyName(name))
}
