package report

// MarkdownOf is one diagnosis of what Markdown writes.
var MarkdownOf = markdown
