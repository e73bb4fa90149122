/**
 * Free text before other text. An isolate that the text opens and does not close would end with the element, in place of the
 * element's own one, and the text behind it would be shown backwards. So the element closes it.
 */
import type { ReactNode } from 'react';

/** U+2066 to U+2068 open an isolate, U+2069 closes the last one. */
const marks = /[\u2066-\u2069]/g;
const close = '\u2069';

function unclosed(text: string): number {
  let open = 0;
  for (const [mark] of text.matchAll(marks)) open = mark === close ? Math.max(0, open - 1) : open + 1;
  return open;
}

export const OwnText = ({ children }: { readonly children: string }): ReactNode => (
  <bdi>{`${children}${close.repeat(unclosed(children))}`}</bdi>
);
