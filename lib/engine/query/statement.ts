/**
 * Converts SQL with named parameters into SQL with the numbered ones of the wire protocol. Only `:name` outside strings, quoted names,
 * comments and casts is a parameter; only `$1`, `$2` … are ever inserted into the text.
 */

export interface Statement {
  readonly text: string;
  /** argument names of `$1`, `$2` …, each name once */
  readonly names: readonly string[];
}

const name = /:([A-Za-z_][A-Za-z0-9_]*)/y;
const numbered = /\$\d+/y;
const identifier = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y;

/** The statement, or a message that says why it is invalid. */
export function parseStatement(sql: string): Statement | { readonly error: string } {
  const names: string[] = [];
  let text = '';
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(sql);
  };
  const copyTo = (end: number): void => {
    text += sql.slice(at, end);
    at = end;
  };
  while (at < sql.length) {
    const skipped = endOfQuoted(sql, at, match);
    if (skipped === 'open') return { error: `the string or comment that begins at character ${at + 1} does not end` };
    if (skipped !== undefined) {
      copyTo(skipped);
      continue;
    }
    if (sql.startsWith('::', at) || sql.startsWith(':=', at)) {
      copyTo(at + 2);
      continue;
    }
    const number = match(numbered);
    if (number !== null) return { error: `${number[0]} at character ${at + 1}: parameters must be named, as in :customer` };
    const named = match(name)?.[1];
    if (named !== undefined) {
      if (!names.includes(named)) names.push(named);
      text += `$${names.indexOf(named) + 1}`;
      at += named.length + 1;
      continue;
    }
    copyTo(match(identifier) === null ? at + 1 : at + (match(identifier)?.[0].length ?? 1));
  }
  return { text, names };
}

/** Whether anything but blanks and comments follows a `;`. False for unterminated text, which is invalid anyway. */
export function hasSeveralStatements(sql: string): boolean {
  let isEnded = false;
  for (let at = 0; at < sql.length;) {
    const isComment = sql.startsWith('--', at) || sql.startsWith('/*', at);
    if (isEnded && !isComment && !/[\s;]/.test(sql.charAt(at))) return true;
    isEnded ||= sql[at] === ';';
    const skipped = endOfQuoted(sql, at, matchAt(sql, at));
    if (skipped === 'open') return false;
    at = skipped ?? at + (matchAt(sql, at)(identifier)?.[0].length ?? 1);
  }
  return false;
}

const matchAt =
  (sql: string, at: number) =>
  (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(sql);
  };

/** End of the string, quoted name or comment that begins here; `open` if it does not end; undefined if none begins. */
function endOfQuoted(sql: string, at: number, match: (pattern: RegExp) => RegExpExecArray | null): number | 'open' | undefined {
  if (sql.startsWith('--', at)) {
    const end = sql.indexOf('\n', at);
    return end === -1 ? sql.length : end;
  }
  if (sql.startsWith('/*', at)) return endOfComment(sql, at);
  if (/^[eE]'/.test(sql.slice(at, at + 2))) return endOfString(sql, at + 2, "'", true);
  if (sql[at] === "'") return endOfString(sql, at + 1, "'", false);
  if (sql[at] === '"') return endOfString(sql, at + 1, '"', false);
  const tag = match(dollarTag)?.[0];
  if (tag === undefined) return undefined;
  const end = sql.indexOf(tag, at + tag.length);
  return end === -1 ? 'open' : end + tag.length;
}

/** A doubled quote is an escaped quote; in an `E''` string a backslash escapes it too. */
function endOfString(sql: string, from: number, quote: string, hasEscapes: boolean): number | 'open' {
  for (let at = from; at < sql.length; at += 1) {
    if (hasEscapes && sql[at] === '\\') at += 1;
    else if (sql[at] === quote && sql[at + 1] === quote) at += 1;
    else if (sql[at] === quote) return at + 1;
  }
  return 'open';
}

/** Comments in PostgreSQL nest. */
function endOfComment(sql: string, from: number): number | 'open' {
  let depth = 0;
  for (let at = from; at < sql.length; at += 1) {
    if (sql.startsWith('/*', at)) {
      depth += 1;
      at += 1;
    } else if (sql.startsWith('*/', at)) {
      depth -= 1;
      at += 1;
      if (depth === 0) return at + 1;
    }
  }
  return 'open';
}
