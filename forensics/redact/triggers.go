package redact

import "strings"

// nothing is for what is a trigger only because it shows that there is something a layer below.
func (f *finding) nothing(_, _ int) {}

// triggers are all that is looked for in text.
func triggers() []trigger {
	list := []trigger{
		{word: placeholderStart, find: (*finding).placeholder},
		{word: "private", find: (*finding).privateKey},
		{word: "authorization", find: (*finding).authorization},
		{word: "bearer", find: (*finding).scheme},
		{word: "basic", find: (*finding).scheme},
		{word: "negotiate", find: (*finding).scheme},
		{word: "cookie", find: (*finding).cookies},
		{word: "akia", find: (*finding).awsKey},
		{word: "asia", find: (*finding).awsKey},
		{word: "s.", find: (*finding).oldVaultToken, fits: fitsOldVaultToken},
		{word: "aq", find: (*finding).cephKey, fits: fitsCephKey},
		{word: "eyj", find: (*finding).jwt},
		{word: "//", find: (*finding).userinfo, fits: fitsUserinfo},
		// Escaped slashes and equals signs show something a layer below, or two or three.
		{word: `\/`, find: (*finding).nothing},
		{word: "%2f", find: (*finding).nothing},
		{word: "%5c", find: (*finding).nothing},
		{word: "%252f", find: (*finding).nothing},
		{word: "%25252f", find: (*finding).nothing},
		{word: "sig%", find: (*finding).nothing},
		{word: "hooks.slack.com/services/", find: (*finding).webhook},
		{word: "discord.com/api/webhooks/", find: (*finding).webhook},
		{word: "sig=", find: (*finding).signature},
		{word: "signature=", find: (*finding).signature},
	}
	// The beginnings, in base64, of: {" and { with a line break, -----BEGIN, apiVersion.
	for _, word := range []string{"eyj", "ewog", "ewoj", "ewok", "ew0k", "ls0tls1crudjti", "yxbpvmvyc2lvb"} {
		list = append(list, trigger{word: word, find: (*finding).encoded})
	}
	for _, word := range nameWords() {
		list = append(list, trigger{word: word, find: (*finding).assignment})
	}
	for _, x := range shapes {
		list = append(list, trigger{word: strings.ToLower(x.prefix), find: x.find})
	}
	return list
}
