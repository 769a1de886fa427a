package redact

import (
	"slices"
	"strings"
)

// Args masks secrets in a command line. The slice is not changed; the result is never nil, and has as many elements.
func (r *Redactor) Args(where string, argv []string) []string {
	a := args{r: r, where: where, in: argv, out: make([]string, 0, len(argv))}
	if len(argv) > 0 {
		a.program = argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	}
	for len(a.out) < len(argv) {
		a.next()
	}
	return a.out
}

type args struct {
	r       *Redactor
	where   string
	program string
	in, out []string
}

// next masks one argument, or a flag and its value.
func (a *args) next() {
	arg := a.in[len(a.out)]
	name, value, assigned := strings.Cut(arg, "=")
	switch {
	case assigned && a.assign(name, value):
	case !strings.HasPrefix(arg, "-"):
		a.add(a.r.Text(a.where, arg))
	case strings.HasPrefix(arg, "-o") && len(arg) > 2 && assigned: // -opassword=x
		a.add("-o" + a.r.Options(a.where, arg[2:]))
	case a.attached(arg):
	case a.withValue(arg):
	default:
		a.add(a.r.Text(a.where, arg))
	}
}

func (a *args) add(masked ...string) { a.out = append(a.out, masked...) }

func (a *args) mask(secret string) string { return a.r.mask(a.where, "argument", secret) }

// assign masks NAME=value and --name=value, and says whether it was one.
func (a *args) assign(name, value string) bool {
	switch flag := strings.TrimLeft(name, "-"); {
	case strings.ContainsAny(flag, " \n/") || flag == "":
		return false // a script, a path, a URL
	case flag == "o" || flag == "options" || flag == "opt":
		a.add(name + "=" + a.r.Options(a.where, value))
	case secretName(flag) || isKeyName(flag) && looksRandom(value):
		if harmless(value) {
			a.add(name + "=" + value)
		} else {
			a.add(name + "=" + a.mask(value))
		}
	default:
		inner, secret, nested := strings.Cut(value, "=") // --from-literal=password=x, --env=DB_PASSWORD=x
		if !nested || strings.ContainsAny(inner, " \n/,") || !secretName(inner) || harmless(secret) {
			return false
		}
		a.add(name + "=" + inner + "=" + a.mask(secret))
	}
	return true
}

// attached masks -pSECRET, where the program takes it so.
func (a *args) attached(arg string) bool {
	if len(arg) < 3 || !strings.HasPrefix(arg, "-p") || !slices.Contains(passwordAttached, a.program) {
		return false
	}
	a.add("-p" + a.mask(arg[2:]))
	return true
}

// withValue masks a flag and the argument behind it, and says whether that is a value which holds a secret.
func (a *args) withValue(flag string) bool {
	if len(a.out)+1 == len(a.in) {
		return false
	}
	value := a.in[len(a.out)+1]
	name := strings.TrimLeft(flag, "-")
	switch {
	case a.takesSecret(flag, value):
		a.add(flag, a.mask(value))
	case strings.HasPrefix(value, "-"): // the next flag
		return false
	case flag == "-o" || flag == "--options" || flag == "--opt":
		a.add(flag, a.r.Options(a.where, value))
	case (secretName(name) || isKeyName(name) && looksRandom(value)) && !harmless(value):
		a.add(flag, a.mask(value))
	case (flag == "-v" || flag == "--value") && a.afterSecretName(): // iscsiadm -n node.session.auth.password -v x
		a.add(flag, a.mask(value))
	case slices.Contains(userFlags, flag):
		i := strings.IndexAny(value, ":%")
		if i < 0 || isPath(value) || all(value[i+1:], isDigit) || strings.HasPrefix(value[i:], "://") {
			return false
		}
		a.add(flag, value[:i+1]+a.mask(value[i+1:]))
	case flag == "-e" || flag == "--env" || flag == "--from-literal" || flag == "--set":
		inner, secret, ok := strings.Cut(value, "=")
		if !ok || !secretName(inner) || harmless(secret) {
			return false
		}
		a.add(flag, inner+"="+a.mask(secret))
	default:
		return false
	}
	return true
}

// afterSecretName says whether the argument before the last one is the name of a secret.
func (a *args) afterSecretName() bool {
	i := len(a.out) - 1
	return i >= 0 && secretName(a.in[i])
}

// The programs for which -p is a password, and is written together with it.
var (
	passwordFlag = []string{
		"sshpass", "docker", "podman", "nerdctl", "crictl", "ctr", "oc", "helm", "skopeo", "buildah", "mongo",
		"mongosh", "mongodump", "az",
		"kinit", "htpasswd", "influx", "rabbitmqctl", "smbclient", "mount.cifs",
	}
	passwordAttached = []string{
		"sshpass", "mysql", "mysqldump", "mysqladmin", "mysqlcheck", "mariadb", "mariadb-dump", "mariadb-admin", "7z",
		"7za",
	}
	// userFlags take "user:password" or "user%password".
	userFlags = []string{
		"-u", "-U", "--user", "--username", "--proxy-user", "--creds", "--src-creds", "--dest-creds", "--basic-auth",
	}
)

// otherFlags are short flags of single programs that take a password.
var otherFlags = map[string]string{
	"ldapsearch": "-w", "ldapmodify": "-w", "ldapadd": "-w", "redis-cli": "-a", "redis-benchmark": "-a", "ipmitool": "-P", "wpa_passphrase": "-k",
	"cqlsh": "-p", "curlftpfs": "-p", "sqlcmd": "-P", "pscp": "-pw", "plink": "-pw",
}

// takesSecret says whether a short flag of this program is followed by a secret. Of programs that are not known, -p is
// one if its value cannot be a port, a path, or another word that people write there.
func (a *args) takesSecret(flag, value string) bool {
	switch {
	case value == "" || harmless(value):
		return false
	case flag == otherFlags[a.program]:
		return true
	case flag == "-p" && slices.Contains(passwordFlag, a.program):
		return !isPortMapping(value)
	case flag == "-p":
		return len(value) >= 6 && !strings.ContainsAny(value, "/:,") && strings.ContainsAny(value, "0123456789!#$%&*+?@^~") &&
			!isWord(value) && !all(value, func(c byte) bool { return isDigit(c) || c == '.' || c == '-' })
	}
	return false
}

// isPortMapping is for "docker run -p 127.0.0.1:8080:80/tcp".
func isPortMapping(value string) bool {
	return all(strings.TrimSuffix(strings.TrimSuffix(value, "/tcp"), "/udp"), func(c byte) bool {
		return isDigit(c) || strings.IndexByte(".:-[]", c) >= 0
	})
}
