/** The text of the secret from which the keys of runs are derived: the secret itself, or a list of secrets with the times of their runs. */
import * as z from 'zod';
import { type Instant, instant } from '../engine/time.ts';

/** A derived key is as hard to guess as the secret. */
export const minRunSecretLength = 32;
export const maxRunSecrets = 100;

export interface RunSecret {
  readonly secret: string;
  /** for runs whose ids have this time or a later one; absent: for all */
  readonly from?: Instant;
}

const secrets = z
  .array(
    z.strictObject({
      secret: z.string().min(minRunSecretLength),
      from: z.iso
        .datetime({ offset: true })
        .transform((text) => instant(Date.parse(text)))
        .exactOptional(),
    }),
  )
  .min(1)
  .max(maxRunSecrets);

/** @returns undefined if the text is no such secret */
export function parseRunSecrets(text: string): readonly RunSecret[] | undefined {
  const list = listIn(text);
  return secrets.safeParse(list ?? [{ secret: text }]).data;
}

function listIn(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
