/** Spells optional times for an answer: an absent time is an absent key. */
import { type Instant, iso } from '../../../lib/engine/time.ts';

export const times = <Name extends string>(
  given: Readonly<Record<Name, Instant | undefined>>,
): { readonly [Key in Name]?: string } => {
  const spelled: { [Key in Name]?: string } = {};
  for (const name in given) {
    const moment = given[name];
    if (moment !== undefined) spelled[name] = iso(moment);
  }
  return spelled;
};
