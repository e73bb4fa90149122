/** Brings an archive to the address that the service signed for it: no key goes there, and the same bytes twice are once. */
import { type CallOptions, tried } from './ask.ts';
import { ComputeClientError } from './errors.ts';
import { type ClientParts, whole } from './options.ts';
import { waitBeforeRetry } from './retry-rule.ts';
import { retryAfterMsIn } from './answers.ts';
import { pause } from './within.ts';

/** As `createDeployment` answered it. */
export interface Upload {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface UploadOptions extends CallOptions {
  /** of one try, in milliseconds; 300,000 */
  readonly timeoutMs?: number;
}

const longMs = 300_000;
const operationId = 'uploadArtifact';

/** @throws ComputeClientError with the word of the store, such as `AccessDenied` after the address has run out */
export const uploaded = async (
  parts: ClientParts,
  { method, url, headers }: Upload,
  archive: Uint8Array<ArrayBuffer>,
  { signal, correlationId = parts.newId(), timeoutMs = longMs }: UploadOptions = {},
): Promise<void> => {
  const asked = { operationId, correlationId };
  const init: RequestInit = { method, headers: { ...headers }, body: archive, redirect: 'manual' };
  const patient = { ...parts, timeoutMs: whole('timeoutMs', timeoutMs, 1) };
  for (let triesBefore = 0; ; triesBefore += 1) {
    const came = await tried(patient, { url, init, asked, signal });
    const hasAnswer = !(came instanceof ComputeClientError);
    if (hasAnswer && came.status >= 200 && came.status < 300) return;
    const error = hasAnswer ? refusal(came, correlationId) : came;
    const retryAfterMs = hasAnswer ? retryAfterMsIn(came.headers) : undefined;
    const waitMs = waitBeforeRetry({ operationId, isKeyed: false }, error, {
      triesBefore,
      retryAfterMs,
      random: parts.random,
    });
    if (waitMs === undefined || triesBefore === parts.retries) throw error;
    await pause(parts.sleep, waitMs, signal);
  }
};

/** Of its answer nothing is kept but its word: the store quotes what was signed. */
const refusal = ({ status, text }: { status: number; text: string }, correlationId: string): ComputeClientError => {
  const word = /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1];
  const what = word === undefined ? String(status) : `${status} ${word}`;
  return new ComputeClientError({ status, message: `${operationId}: refused (${what})`, correlationId, causeBody: word });
};
