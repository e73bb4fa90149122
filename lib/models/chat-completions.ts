/** Models behind the chat completions API, as OpenAI and many others speak it, streaming. */
import type { Response } from 'undici';
import type { JsonObject, JsonValue } from '../engine/json.ts';
import type { Reach } from '../nodes/http/destination.ts';
import { retryAfter } from '../nodes/http/failure.ts';
import type { Attachment, ModelCall, ModelProvider, ModelRequest, ProviderAnswer } from '../ports/models.ts';
import { type ProviderFailure, answerOf } from './chat-stream.ts';
import { guardedPost, textWithin } from './guarded-post.ts';
import type { ProviderKeys } from './provider-keys.ts';

export interface ChatCompletionsOptions {
  readonly baseUrl: string;
  /** by the provider's own name */
  readonly model: string;
  readonly secretArn?: string;
  readonly keys: ProviderKeys;
  readonly reach: Reach;
}

const mostErrorBytes = 65_536;
/** What is ours to say. */
const ownParams = ['model', 'messages', 'stream', 'stream_options', 'n'];
const spellings: Readonly<Record<string, string>> = { maxTokens: 'max_tokens', topP: 'top_p', stopSequences: 'stop' };

export class ChatCompletions implements ModelProvider {
  readonly #options: ChatCompletionsOptions;

  constructor(options: ChatCompletionsOptions) {
    this.#options = options;
  }

  async execute(request: Omit<ModelRequest, 'modelId'>, call: ModelCall): Promise<ProviderAnswer> {
    const { baseUrl, model, secretArn, keys, reach } = this.#options;
    const content = contentOf(request);
    if (typeof content === 'object' && 'unsupported' in content) {
      const message = `a ${content.unsupported} cannot be handed to ${model} by its address`;
      return { kind: 'failed', cause: 'invalid', code: 'modality_unsupported', message };
    }
    const key = secretArn === undefined ? undefined : await keys.of(secretArn);
    const sent = {
      url: `${baseUrl.replace(/\/+$/, '')}/chat/completions`,
      headers: {
        accept: 'text/event-stream',
        'idempotency-key': call.idempotencyToken,
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: {
        ...paramsOf(request.params),
        model,
        messages: [{ role: 'user', content }],
        stream: true,
        stream_options: { include_usage: true },
      },
    };
    const answer = await guardedPost(sent, { reach, signal: call.signal }, async (response) =>
      response.status === 200 ? answerOf(response, call) : refusalOf(response),
    );
    if ('unreached' in answer) {
      if (answer.isForbidden) return { kind: 'failed', cause: 'invalid', code: 'address_forbidden', message: answer.unreached };
      return { kind: 'failed', cause: 'provider_error', code: 'provider_unreachable', message: answer.unreached };
    }
    if (answer.kind === 'answered') return answer;
    if (answer.code === 'provider_key_refused' && secretArn !== undefined) keys.forget(secretArn);
    // Some repeat the key in their refusals.
    return key === undefined ? answer : { ...answer, message: answer.message.replaceAll(key, '***') };
  }
}

const paramsOf = (params: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(params).flatMap(([name, value]): [string, JsonValue][] =>
      ownParams.includes(name) ? [] : [[(Object.hasOwn(spellings, name) ? spellings[name] : undefined) ?? name, value]],
    ),
  );

/** A text alone, or with pictures that the provider fetches by itself. */
function contentOf({
  prompt,
  attachments,
}: Omit<ModelRequest, 'modelId'>): string | readonly JsonObject[] | { readonly unsupported: Attachment['kind'] } {
  const other = attachments.find(({ kind }) => kind !== 'image');
  if (other !== undefined) return { unsupported: other.kind };
  if (attachments.length === 0) return prompt;
  return [{ type: 'text', text: prompt }, ...attachments.map(({ url }) => ({ type: 'image_url', image_url: { url } }))];
}

async function refusalOf(response: Response): Promise<ProviderFailure> {
  const { status } = response;
  const words = `the provider answered with status ${status}`;
  // What it says to a wrong key may hold a part of it.
  if (status === 401 || status === 403) return failed('provider_error', 'provider_key_refused', words);
  const said = messageIn((await textWithin(response, mostErrorBytes)) ?? '');
  const message = said === '' ? words : `${words}: ${said}`;
  if (status === 429) {
    const headers = Object.fromEntries(response.headers.entries());
    const retryAfterMs = retryAfter({ headers });
    return { ...failed('rate_limit', 'provider_rate_limit', message), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  }
  const isTheirs = status >= 500 || status === 408 || status === 409 || status === 425;
  return failed(isTheirs ? 'provider_error' : 'invalid', isTheirs ? 'provider_error' : 'provider_refused', message);
}

const failed = (cause: ProviderFailure['cause'], code: string, message: string): ProviderFailure => ({
  kind: 'failed',
  cause,
  code,
  message,
});

const messageIn = (text: string): string => {
  try {
    const { error }: { error?: { message?: unknown } } = JSON.parse(text);
    return typeof error?.message === 'string' ? error.message.slice(0, 500) : '';
  } catch {
    return '';
  }
};
