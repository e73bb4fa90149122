/** Moderation providers: a word list, an HTTP service, and none. */
import { defined } from '../base/defined.ts';
import * as z from 'zod';
import { type JsonObject } from '../engine/json.ts';
import type { NetworkAccess } from '../egress/destination.ts';
import { SecretMask } from '../egress/secret-mask.ts';
import type { Decision, Moderation, ModerationPhase } from '../ports/moderation.ts';
import { guardedPost, textWithin } from './guarded-post.ts';
import type { ProviderKeys } from './provider-keys.ts';

/** Without a moderation provider, a node that requests moderation fails. */
export const noModeration: Moderation = {
  check: async (_phase, text) =>
    text === ''
      ? { kind: 'allowed' }
      : { kind: 'unavailable', message: 'this node requests moderation, but none is configured; set "moderation"' },
};

/** Blocks a text that contains one of the words, ignoring case. */
export class WordModeration implements Moderation {
  readonly #words: readonly string[];

  constructor(words: readonly string[]) {
    this.#words = words.map((word) => word.toLowerCase());
  }

  async check(_phase: ModerationPhase, text: string): Promise<Decision> {
    const lower = text.toLowerCase();
    const word = this.#words.find((each) => lower.includes(each));
    return word === undefined ? { kind: 'allowed' } : { kind: 'blocked', policy: 'words', reason: `the text contains ${word}` };
  }
}

export interface HttpModerationOptions {
  readonly url: string;
  readonly secretArn?: string;
  readonly keys: ProviderKeys;
  readonly networkAccess: NetworkAccess;
}

const decisionSchema = z.object({
  allowed: z.boolean(),
  policy: z.string().max(500).exactOptional(),
  reason: z.string().max(2_000).exactOptional(),
  metadata: z.custom<JsonObject>((value) => typeof value === 'object' && value !== null && !Array.isArray(value)).exactOptional(),
});
const maxBytes = 65_536;

/** Sends `{ phase, text }` and expects `{ allowed, policy?, reason?, metadata? }`. Any other response blocks the text. */
export class HttpModeration implements Moderation {
  readonly #options: HttpModerationOptions;

  constructor(options: HttpModerationOptions) {
    this.#options = options;
  }

  async check(phase: ModerationPhase, text: string, signal: AbortSignal): Promise<Decision> {
    if (text === '') return { kind: 'allowed' };
    const { url, secretArn, keys, networkAccess } = this.#options;
    const key = secretArn === undefined ? undefined : await keys.of(secretArn);
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
    const mask = new SecretMask(key === undefined ? [] : [{ name: 'the key of the moderation', text: key }]);
    const answer = await guardedPost({ url, headers, body: { phase, text } }, { networkAccess, signal }, async (response) => ({
      status: response.status,
      body: response.status === 200 ? await textWithin(response, maxBytes) : undefined,
    }));
    if ('unreachable' in answer) return unavailable(mask.text(answer.unreachable));
    if ((answer.status === 401 || answer.status === 403) && secretArn !== undefined) keys.forget(secretArn);
    if (answer.status !== 200) return unavailable(`the moderation service returned status ${answer.status}`);
    const read = decisionSchema.safeParse(jsonIn(answer.body ?? ''));
    if (!read.success) return unavailable('the moderation service returned an invalid decision');
    const { allowed, ...decision } = read.data;
    return allowed ? { kind: 'allowed' } : { kind: 'blocked', ...masked(decision, mask) };
  }
}

/** The decision becomes an event, and some services repeat the request with its key. */
const masked = ({ policy, reason, metadata }: Omit<z.output<typeof decisionSchema>, 'allowed'>, mask: SecretMask) =>
  defined({
    policy: policy === undefined ? undefined : mask.text(policy),
    reason: reason === undefined ? undefined : mask.text(reason),
    metadata: metadata === undefined ? undefined : mask.object(metadata),
  });

const unavailable = (message: string): Decision => ({ kind: 'unavailable', message });

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
