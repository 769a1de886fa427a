// Package errno tells errors of the operating system from their texts.
package errno

import (
	"strings"
	"unicode/utf8"
)

// errnoWords tell an errno from its message: the C library's, Go's and umount's, in the languages in which nodes are
// installed. A language is told by words that no English message has. The order matters where one message holds
// another's words ("not mounted" is umount's for EINVAL).
var errnoWords = []struct {
	errno string
	words []string
}{
	{"EBUSY", []string{
		" is busy", "resource busy", "device busy", "设备或资源忙", "目标忙", "目标正忙", "设备忙", "忙碌", "資源忙",
		"ビジー", "使用中です", "wird gerade benutzt", "wird momentan benutzt", "Ressource belegt",
		"Ressource ist belegt", "ist beschäftigt", "est occupé", "ressource occupé", "está ocupado", "recurso ocupado",
		"risorsa occupata", "è occupat", "занят", "зайнят", "사용 중", "사용중", "동작 중", "zajęt", "meşgul",
		"zaneprázdněn", "jsou používány", "upptagen",
	}},
	{"ESTALE", []string{
		"tale file handle", "tale NFS file handle", "过旧的文件句柄", "文件句柄失效", "失效的文件", "過舊的檔案",
		"失效的 NFS", "古いファイルハンドル", "実効性のないファイルハンドル", "Veraltete Dateizugriff", "Veralteter Datei",
		"Veraltete Dateikennung", "NFS périmé", "de fichier périmé", "de archivo obsoleto", "устаревш",
	}},
	{"ENOTCONN", []string{
		"ransport endpoint is not connected", "传输端点尚未连接", "傳輸端點尚未連線", "通信端点が接続されていません",
		"通信端点に接続していません", "Transportendpunkt ist nicht verbunden", "Der Socket ist nicht verbunden",
		"punto final de transporte no está conectado",
		"Конечная точка передачи не подсоединена",
	}},
	{"ESHUTDOWN", []string{"annot send after transport endpoint shutdown", "端点关闭后无法发送"}},
	{"EIO", []string{
		"nput/output error", "I/O error", "输入/输出错误", "輸入/輸出錯誤", "入力/出力エラー", "Eingabe-/Ausgabefehler",
		"erreur d'entrée/sortie", "Error de entrada/salida", "Ошибка ввода/вывода",
	}},
	{"EUCLEAN", []string{"tructure needs cleaning", "结构需要清理"}},
	{"EINVAL", []string{
		"not mounted", "no mount point specified", "not a mountpoint", "未挂载", "没有挂载", "未掛載", "沒有掛載",
		"マウントされていません", "nicht eingehängt", "n'est pas monté", "no está montado", "не смонтирован",
	}},
	{"EROFS", []string{
		"ead-only file system", "只读文件系统", "唯讀檔案系統", "読み込み専用ファイルシステム", "Dateisystem ist nur lesbar",
		"nur lesbar", "de fichiers accessible en lecture seulement", "sólo lectura", "только для чтения",
	}},
	{"ENOSPC", []string{
		"o space left on device", "设备上没有空间", "裝置上已無多餘空間", "空き領域がありません", "kein Speicherplatz mehr",
		"plus de place disponible", "No queda espacio", "не осталось свободного места",
	}},
	{"EDQUOT", []string{"isk quota exceeded", "超出磁盘限额", "ディスク使用量制限を超過"}},
	{"ENOTEMPTY", []string{"irectory not empty", "目录非空", "ディレクトリは空ではありません", "Verzeichnis nicht leer"}},
	{"ENOTDIR", []string{"not a directory"}},
	{"EHOSTDOWN", []string{"ost is down", "主机关闭", "ホストが落ちています", "Rechner ist nicht aktiv"}},
	{"ETIMEDOUT", []string{
		"onnection timed out", "连接超时", "連線逾時", "接続がタイムアウトしました", "Wartezeit für die Verbindung ist abgelaufen",
		"i/o timeout",
	}},
	{"ECONNREFUSED", []string{"onnection refused", "拒绝连接", "接続を拒否されました", "Verbindungsaufbau abgelehnt"}},
	{"EMFILE", []string{"oo many open files", "打开的文件过多", "Zu viele offene Dateien", "開いているファイルが多すぎます"}},
	{"EAGAIN", []string{"esource temporarily unavailable", "资源暂时不可用", "リソースが一時的に利用できません"}},
	{"ENOMEM", []string{"annot allocate memory", "无法分配内存", "メモリを確保できません", "Nicht genügend Hauptspeicher"}},
	{"EPERM", []string{"peration not permitted", "must be superuser", "不允许的操作", "許可されていない操作です"}},
	{"EACCES", []string{
		"ermission denied", "权限不够", "拒絕不符權限", "許可がありません", "Keine Berechtigung", "Permission non accordée",
		"Permiso denegado", "Отказано в доступе",
	}},
	{"ENOENT", []string{
		"o such file or directory", "没有那个文件或目录", "沒有此一檔案或目錄", "そのようなファイルやディレクトリはありません",
		"Datei oder Verzeichnis nicht gefunden", "Aucun fichier ou dossier", "No existe el archivo",
		"Нет такого файла",
	}},
}

// An errnoWord is one word of errnoWords, in their order.
type errnoWord struct{ errno, word string }

// asciiErrnos and otherErrnos are the words without and with letters beyond ASCII. Most errors are in English, and are
// spared the comparison with the others.
var asciiErrnos, otherErrnos = func() (ascii, other []errnoWord) {
	for _, e := range errnoWords {
		for _, w := range e.words {
			if isASCII(w) {
				ascii = append(ascii, errnoWord{e.errno, w})
			} else {
				other = append(other, errnoWord{e.errno, w})
			}
		}
	}
	return ascii, other
}()

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Of names the errno ("ESTALE") that a text in any of the known languages speaks of; "" if none.
func Of(text string) string {
	if text == "" {
		return ""
	}
	for _, w := range asciiErrnos {
		if strings.Contains(text, w.word) {
			return w.errno
		}
	}
	if isASCII(text) {
		return ""
	}
	for _, w := range otherErrnos {
		if strings.Contains(text, w.word) {
			return w.errno
		}
	}
	return ""
}
