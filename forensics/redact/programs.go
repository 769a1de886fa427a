package redact

import "strings"

// programTable says of programs which of their arguments hold a secret, as their manual pages have it. Behind the names:
//
//	-a      the value of the option, behind a blank, an equals sign or, of one letter, nothing
//	-p+     only what is attached: what follows is something else
//	-u:     what stands behind the colon of the value (or another sign: , % /)
//	-v?     only where another argument is the name of a secret
//	(a _ *) words that are no options: a itself, any, the secret
//	(a _ =) the values of all words NAME=value from there on
//
//nolint:misspell // mosquitto is a program
const programTable = `
redis-cli redis-benchmark valkey-cli valkey-benchmark keydb-cli keydb-benchmark: -a --pass
redis-server valkey-server: --requirepass --masterauth
mysql mysqldump mysqladmin mysqlcheck mysqlimport mysqlshow mysqlslap mysqlbinlog mysqlpump mariadb mariadb-dump mariadb-admin mariadb-check mariadb-import mariadb-backup xtrabackup mysqld mysqld_safe: -p+ --password --wsrep_sst_auth:
mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop: -p --password
sshpass: -p
curl: -u: -U: --user: --proxy-user: -E: --cert: --proxy-cert: -b --cookie --oauth2-bearer --pass --proxy-pass --tlspassword
wget: --password --http-password --ftp-password --proxy-password
http https xh httpie: -a: --auth:
ab siege: -A: -P:
lftp: -u,
ldapsearch ldapmodify ldapadd ldapdelete ldapmodrdn ldapwhoami ldapcompare ldapexop: -w
ldappasswd: -w -s -a
slappasswd: -s
keytool jarsigner apksigner: -storepass -keypass -srcstorepass -deststorepass -srckeypass -destkeypass -new
zkCli.sh: (addauth _ *:)
mosquitto_pub mosquitto_sub mosquitto_rr: -P --pw
mosquitto_passwd: (_ _ *)
iscsiadm: -v? --value?
k3s rke2: -t --token --agent-token
kubeadm: --token --discovery-token --tls-bootstrap-token --certificate-key (token create *)
docker podman nerdctl crane regctl buildah helm oc oras: -p --password
skopeo crictl ctr: --creds: --src-creds: --dest-creds: --user: -u: --auth -p
openssl: -passin: -passout: -pass: -k -K -hmac -macopt: (passwd *)
htpasswd: (_ _ *)
smbclient rpcclient smbcacls smbcquotas smbget smbtree net: -U%
kinit mount.cifs: -p
smbpasswd ipa-client-install ipa-replica-install kadmin kadmin.local: -p? -w -pw
restic borg duplicity: --password
mc: (alias set _ _ _ *) (config host add _ _ _ *)
az: -p --password --account-key --sas-token --admin-password
gcloud: (auth activate-refresh-token _ *)
vault bao: (login *) (unseal *) (operator unseal *) (token lookup *) (token renew *) (token revoke *) (kv put _ =) (kv patch _ =) -token
consul nomad serf: -token --token -encrypt --encrypt
plink pscp psftp pageant: -pw
ssh-keygen: -N -P
zip unzip zipcloak: -P
7z 7za 7zr 7zz unrar: -p+
rar: -p+ -hp+
ccrypt ccencrypt ccdecrypt: -K --key
gpg gpg2 gpgsm: --passphrase
ipmitool ipmi-power ipmiconsole: -P --password (user set password _ *)
racadm fence_ipmilan fence_ilo fence_idrac fence_apc fence_vmware fence_drac5: -p
snmpget snmpwalk snmpbulkwalk snmpbulkget snmpset snmptrap snmpgetnext snmptable snmpstatus snmpdf: -c -A -X
rabbitmqctl: -p? (add_user _ *) (change_password _ *) (authenticate_user _ *)
rabbitmqadmin beeline sqoop ncftpput ncftpget ncftp ncftpls elasticsearch-users: -p -password --password
influx: -p -password --password -t --token
sqlcmd bcp tsql osql: -P
isql: -P (_ _ *)
sqlplus impdp expdp exp imp sqlldr: (*/)
cqlsh curlftpfs: -p
etcdctl: --user: --password --new-user-password (user add *:)
wpa_passphrase: -k (_ *)
ngrok: (authtoken *) (config add-authtoken *)
argocd: --password
kubectl: --from-literal=
grafana-cli grafana: (admin reset-admin-password *)
x11vnc vncpasswd: -passwd -f
xfreerdp wlfreerdp rdesktop: /p: -p
dotnet nuget: -k --api-key
sendEmail sendemail: -xp
pt-table-checksum pt-table-sync pt-online-schema-change pt-query-digest: -p --password
xtermpasswd: -p
swift: -K --key --os-password
ttyd gotty: -c: --credential:
check_http: -a: -b:
check_mysql check_mysql_query check_pgsql: -p --password
check_snmp check_ifstatus: -C -A -X
swaks: -ap --auth-password
virsh: --base64 (secret-set-value _ *)
dislocker: -p+ -u+ --recovery-password --user-password
pg_md5: (*)
solr: -credentials: --credentials:
drush: (user:password _ *) (upwd _ *)
caddy: -p --plaintext
`

// A program is what a line of the table says.
type program struct {
	// options has the sign behind which the secret of an option begins; plainValue where it is the whole value.
	options map[string]byte
	places  [][]string
}

const (
	plainValue   = ' '
	attachedOnly = '+'
	namedSecret  = '?'
)

// readPrograms reads the table.
func readPrograms() map[string]program {
	all := map[string]program{}
	for line := range strings.Lines(strings.TrimSpace(programTable)) {
		names, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		p := program{options: map[string]byte{}}
		before, places, _ := strings.Cut(rest, "(")
		for _, option := range strings.Fields(before) {
			p.addOption(option)
		}
		for _, place := range strings.FieldsFunc(places, func(c rune) bool { return c == '(' }) {
			words, _, _ := strings.Cut(place, ")")
			p.places = append(p.places, strings.Fields(words))
		}
		if _, after, ok := strings.Cut(rest, ") -"); ok { // an option behind the places
			p.addOption("-" + after)
		}
		for _, name := range strings.Fields(names) {
			all[name] = p
		}
	}
	return all
}

func (p *program) addOption(option string) {
	last := len(option) - 1
	if isAlnum(option[last]) {
		p.options[option] = plainValue
	} else {
		p.options[option[:last]] = option[last]
	}
}

// A part of a word of a command line is a secret.
type part struct{ word, from, to int }

// A command is a command line that is looked through for what its programs take for a secret.
type command struct {
	words    []string
	programs map[string]program
	// prose says that the words may be a sentence's: words in places then have to look like secrets.
	prose bool
	parts []part

	program program
	name    string
	// plain are the words that are no options, since the program's name.
	plain []string
}

// secretsIn finds the secrets of all programs that are named in a command line: sudo, timeout and sh run others.
func secretsIn(programs map[string]program, words []string, prose bool) []part {
	c := command{words: words, programs: programs, prose: prose}
	for i := 0; i < len(words); i++ {
		i = c.next(i)
	}
	return c.parts
}

// next looks at one word and returns the last one that it has used.
func (c *command) next(i int) int {
	w := c.words[i]
	if p, ok := c.programs[w[strings.LastIndexByte(w, '/')+1:]]; ok {
		c.program, c.name, c.plain = p, w, nil
		return i
	}
	switch {
	case c.name == "" || w == "":
	case isSeparator(w):
		c.program, c.name = program{}, ""
	case len(c.program.options) > 0 && (w[0] == '-' || w[0] == '/' && c.hasSlashOption(w)):
		return c.option(i)
	case w[0] != '-' && len(c.plain) < maxPlain:
		c.plain = append(c.plain, w)
		c.place(i)
	case w[0] != '-':
		c.pairs(i)
	}
	return i
}

// maxPlain is more words than any place in the table has.
const maxPlain = 8

// isSeparator is for what ends one command of a script.
func isSeparator(w string) bool {
	return w == "|" || w == "||" || w == "&&" || w == "&" || w == ";"
}

func (c *command) hasSlashOption(w string) bool {
	name, _, ok := strings.Cut(w, ":")
	_, known := c.program.options[name]
	return ok && known
}

// option looks at "-a x", "-ax", "--pass x", "--pass=x" and "-sku x".
func (c *command) option(i int) int {
	w := c.words[i]
	if name, value, ok := strings.Cut(w, "="); ok && c.program.options[name] != 0 {
		c.value(i, len(w)-len(value), c.program.options[name])
		return i
	}
	if sign := c.program.options[w]; sign != 0 {
		return c.separate(i, sign)
	}
	if w[0] == '/' {
		c.value(i, strings.IndexByte(w, ':')+1, plainValue)
		return i
	}
	for n := min(len(w)-1, 3); n >= 2; n-- { // -px, -hpx
		if sign := c.program.options[w[:n]]; sign != 0 && (n == 2 || sign == attachedOnly) && w[1] != '-' {
			c.value(i, n, sign)
			return i
		}
	}
	if sign := c.program.options["-"+w[len(w)-1:]]; sign != 0 && w[1] != '-' && len(w) <= 6 && all(w[1:], isLetter) {
		return c.separate(i, sign)
	}
	return i
}

// separate is for an option whose value is the next word.
func (c *command) separate(i int, sign byte) int {
	if i+1 == len(c.words) || sign == attachedOnly || isSeparator(c.words[i+1]) {
		return i
	}
	c.value(i+1, 0, sign)
	return i + 1
}

// value notes the secret in a value that begins at a byte of a word.
func (c *command) value(i, from int, sign byte) {
	w := c.words[i]
	switch sign {
	case plainValue, attachedOnly:
	case namedSecret:
		if !c.namesSecret() {
			return
		}
	default:
		at := strings.IndexByte(w[from:], sign)
		if at < 0 || strings.HasPrefix(w[from+at:], "://") {
			return
		}
		from += at + 1
	}
	if value := w[from:]; !harmlessArgument(value) {
		c.parts = append(c.parts, part{i, from, len(w)})
	}
}

// harmlessArgument is for what stands where a secret could: a port, a file, a reference.
func harmlessArgument(value string) bool {
	return harmless(value) && !all(value, isDigit) || isPortMapping(value) || strings.HasPrefix(value, "file:") || strings.HasPrefix(value, "env:")
}

func (c *command) namesSecret() bool {
	for _, w := range c.words {
		if secretName(w) {
			return true
		}
	}
	return false
}

// place looks whether the last plain word stands where a secret does.
func (c *command) place(i int) {
	c.pairs(i)
	for _, place := range c.program.places {
		if len(place) != len(c.plain) || place[len(place)-1] == "=" {
			continue
		}
		if !fitsPlace(place, c.plain) {
			continue
		}
		w, sign := c.words[i], strings.TrimPrefix(place[len(place)-1], "*")
		switch {
		case strings.Contains(w, "=") && !isBase64Word(w) || harmlessArgument(w) || c.prose && !mixed(w):
		case sign != "":
			if at := strings.Index(w, sign); at >= 0 {
				end := len(w)
				if to := strings.LastIndexByte(w, '@'); to > at {
					end = to
				}
				c.parts = append(c.parts, part{i, at + 1, end})
			}
		case strings.HasSuffix(c.name, "htpasswd") && !c.hasFlag('b'):
		default:
			c.parts = append(c.parts, part{i, 0, len(w)})
		}
	}
	if strings.HasSuffix(c.name, "htpasswd") && len(c.plain) == 2 && c.hasFlag('n') { // it has no file then
		c.parts = append(c.parts, part{i, 0, len(c.words[i])})
	}
}

// pairs looks whether a plain word is a NAME=value where all values are secret.
func (c *command) pairs(i int) {
	for _, place := range c.program.places {
		last := len(place) - 1
		name, value, ok := strings.Cut(c.words[i], "=")
		if place[last] == "=" && ok && len(c.plain) > last && fitsPlace(place, c.plain) && !harmlessArgument(value) {
			c.parts = append(c.parts, part{i, len(name) + 1, len(c.words[i])})
		}
	}
}

// fitsPlace says whether the words before the last one are those of a place.
func fitsPlace(place, words []string) bool {
	for n, want := range place[:len(place)-1] {
		if want != "_" && want != words[n] {
			return false
		}
	}
	return true
}

// hasFlag says whether one of the options of one letter is there.
func (c *command) hasFlag(flag byte) bool {
	for _, w := range c.words {
		if len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.IndexByte(w, flag) > 0 {
			return true
		}
	}
	return false
}

func isBase64Word(w string) bool { return all(strings.TrimRight(w, "="), isBase64) }

// mixed says that a word has letters and digits and is neither short nor a path: a password rather than a word of a
// sentence.
func mixed(w string) bool {
	digits, letters := 0, 0
	for i := range len(w) {
		switch {
		case isDigit(w[i]):
			digits++
		case isLetter(w[i]):
			letters++
		}
	}
	return len(w) >= 6 && digits > 0 && letters > 0 && !isPath(w)
}

// isPortMapping is for "docker run -p 127.0.0.1:8080:80/tcp".
func isPortMapping(value string) bool {
	return strings.ContainsAny(value, ":/") && all(strings.TrimSuffix(strings.TrimSuffix(value, "/tcp"), "/udp"), func(c byte) bool {
		return isDigit(c) || strings.IndexByte(".:-[]", c) >= 0
	})
}
