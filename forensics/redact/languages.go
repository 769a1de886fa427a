package redact

import "strings"

// foreignNames are what passwords, keys and tokens are called in other languages, in lower case. They are triggers: what is
// assigned to them is a secret.
var foreignNames = strings.Fields(`密码 密碼 口令 密钥 密鑰 秘钥 令牌 访问密钥 凭证 パスワード 暗証番号 비밀번호 암호
	contraseña contrasena clave senha motdepasse mot_de_passe passwort kennwort parola hasło haslo heslo wachtwoord lösenord losenord salasana adgangskode
	jelszó şifre sifre пароль Пароль ПАРОЛЬ συνθηματικό סיסמה गुप्तशब्द`)

// foreignPhrases have blanks in them.
var foreignPhrases = []string{"mot de passe", "mật khẩu", "كلمة المرور", "palavra-passe"}

// foreign looks for what is assigned to a name in another language: behind a colon, also one of the full width, an equals
// sign, or the Chinese word for "is".
func (f *finding) foreign(from, to int) {
	if f.s[to-1] < 0x80 && isAlnum(at(f.s, to)) {
		return // a longer word
	}
	i := span(f.s, to, func(c byte) bool { return isBlank(c) || isQuote(c) })
	sign := false
	for _, word := range []string{"：", "＝", "是", "为", "は", ":", "="} {
		if strings.HasPrefix(f.s[i:], word) {
			i, sign = i+len(word), true
			break
		}
	}
	i = span(f.s, i, isBlank)
	v := f.valueAt(name{start: from, end: to, next: to}, equals, i)
	if !v.quoted {
		for _, stop := range []string{"，", "。", "；", "、"} {
			if end := strings.Index(f.s[v.from:max(v.from, v.to)], stop); end >= 0 {
				v.to = v.from + end
			}
		}
	}
	if v.from >= v.to {
		return
	}
	value := f.s[v.from:v.to]
	f.spend(len(value))
	if placeholderAt(value, 0) < 0 && (harmless(value) || !sign && (!mixed(value) || at(f.s, to) != ' ')) {
		return
	}
	f.add("assignment", v.from, v.to)
}
