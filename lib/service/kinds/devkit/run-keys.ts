/**
 * The keys with which the code of runs of the Workflow DevKit encrypts its values. Each run has its own, derived from a secret of the
 * installation: HKDF-SHA256 with the project, the environment and the run. No key is stored.
 */
import { hkdfSync } from 'node:crypto';
import { minRunSecretLength, parseRunSecrets } from '../../../codec/run-secrets.ts';
import { timeOfRunId } from '../../../engine/devkit/run-id.ts';
import type { RunAddress } from '../../../engine/ids.ts';
import type { Instant } from '../../../engine/time.ts';

/** AES-256. */
const keyBytes = 32;
export type RunKey =
  | { readonly kind: 'key'; readonly key: Uint8Array }
  /** the installation encrypts no values */
  | { readonly kind: 'off' }
  /** the text of the secret is missing or wrong; the reason does not quote it */
  | { readonly kind: 'unusable'; readonly reason: string };

export interface RunKeySource {
  /** undefined: the secret does not exist, or has no text */
  readonly secrets: { text(arn: string): Promise<string | undefined> };
  readonly secretArn: string;
}

/** @param source undefined: the setting is off */
export async function keyOfRun(source: RunKeySource | undefined, run: RunAddress): Promise<RunKey> {
  if (source === undefined) return { kind: 'off' };
  const text = await source.secrets.text(source.secretArn);
  if (text === undefined) return { kind: 'unusable', reason: `${named} has no text` };
  const found = secretFor(text, timeOfRunId(run.runId));
  if ('reason' in found) return { kind: 'unusable', ...found };
  const { projectId, environment, runId } = run;
  const derived = hkdfSync('sha256', found.secret, '', `${projectId}|${environment}|${runId}`, keyBytes);
  return { kind: 'key', key: new Uint8Array(derived) };
}

/** The secret at the time of the run's id. The id never changes, so the run has the same key after a rotation. */
function secretFor(text: string, at: Instant): { readonly secret: string } | { readonly reason: string } {
  const secrets = parseRunSecrets(text);
  if (secrets === undefined)
    return { reason: `${named} is neither a text of ${minRunSecretLength} characters nor a list of such texts` };
  return (
    secrets.findLast(({ from }) => from === undefined || from <= at) ?? { reason: `${named} has no entry for runs of this time` }
  );
}

const named = 'the secret of the setting devKitSecretArn';
