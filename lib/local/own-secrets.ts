/** Which secrets nodes may use on this machine: those of the checkout's own setting, and every one that its owner wrote down. */
import * as z from 'zod';
import { arns } from './place.ts';
import { ownSecrets } from './secret-store.ts';

const names = z.record(z.string(), z.string());
const setting = z.record(z.string(), z.record(z.string(), names)).catch({});
/** A name that `{{secret:name}}` can say; the file may hold ARNs and other names too. */
const sayable = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/**
 * In the form of the setting `secrets`, for this machine's one project and environment. A name of the setting keeps the
 * ARN it has there, so that its text may be written down by that ARN.
 */
export function secretsOfOwner(directory: string, own: unknown): Readonly<Record<string, unknown>> {
  const written = Object.keys(ownSecrets(directory)).filter((name) => sayable.test(name));
  const lists = Object.values(setting.parse(own ?? {})).flatMap((byEnvironment) => Object.values(byEnvironment));
  const here = Object.assign(Object.fromEntries(written.map((name) => [name, arns.secret(name)])), ...lists);
  return { default: { '*': here } };
}
