/** Parses the text form of a Postgres array: `{1,NULL,"a \"b\"",{2}}`, with a prefix for unusual bounds. */
import type { JsonValue } from '../../engine/json.ts';

export function readArray(text: string, read: (element: string) => JsonValue): JsonValue {
  let at = text.indexOf('{');
  const element = (): JsonValue => {
    if (text[at] === '{') return list();
    if (text[at] === '"') return read(quoted());
    const end = text.slice(at).search(/[,}]/);
    const word = text.slice(at, at + end);
    at += end;
    return word === 'NULL' ? null : read(word);
  };
  const quoted = (): string => {
    let inner = '';
    for (at += 1; at < text.length && text[at] !== '"'; at += 1) {
      if (text[at] === '\\') at += 1;
      inner += text[at] ?? '';
    }
    at += 1;
    return inner;
  };
  const list = (): JsonValue => {
    const items: JsonValue[] = [];
    at += 1;
    while (at < text.length && text[at] !== '}') {
      items.push(element());
      if (text[at] === ',') at += 1;
    }
    at += 1;
    return items;
  };
  return at === -1 ? null : list();
}
