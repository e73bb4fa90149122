/** Formats optional times for a response: an absent time is an absent key. */
import { type Instant, iso } from '../../../lib/engine/time.ts';

export const times = <Name extends string>(
  instants: Readonly<Record<Name, Instant | undefined>>,
): { readonly [Key in Name]?: string } => {
  const formatted: { [Key in Name]?: string } = {};
  for (const name in instants) {
    const time = instants[name];
    if (time !== undefined) formatted[name] = iso(time);
  }
  return formatted;
};
