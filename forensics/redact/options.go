package redact

import "strings"

// Options masks secrets in mount options ("rw,password=x,vers=3.0"). The names of files that hold a secret stay, and so do
// user names.
func (r *Redactor) Options(where, options string) string {
	list := strings.Split(options, ",")
	for i := 0; i < len(list); i++ {
		name, value, assigned := strings.Cut(list[i], "=")
		switch {
		case !assigned:
		case isOptionSecret(name) && !isPath(value):
			// A comma may be part of a password: what follows and is no option belongs to it.
			rest := i + 1
			for rest < len(list) && !strings.Contains(list[rest], "=") && !contains(mountFlags, list[rest]) && list[rest] != "" {
				value += "," + list[rest]
				rest++
			}
			list[i] = name + "=" + r.mask(where, "option", value)
			list = append(list[:i+1], list[rest:]...)
		case strings.EqualFold(name, "user") || strings.EqualFold(name, "username"): // cifs: user%password
			if user, password, ok := strings.Cut(value, "%"); ok {
				list[i] = name + "=" + user + "%" + r.mask(where, "option", password)
			}
		}
	}
	return r.Text(where, strings.Join(list, ","))
}

// isOptionSecret also knows ceph's key, which is "key" and nothing more.
func isOptionSecret(name string) bool { return secretName(name) || isKeyName(name) }
