/** Reads a response of the chat completions API: a stream of chunks, or one JSON body from servers that do not stream. */
import type { Response } from 'undici';
import * as z from 'zod';
import { defined } from '../base/defined.ts';
import { EventStreamParser, EventTooLong } from '../event-stream/event-stream-parser.ts';
import { type ModelCall, type ProviderResponse, type Tokens, maxResponseLength } from '../ports/models.ts';
import { textWithin } from './guarded-post.ts';

export type ProviderFailure = Extract<ProviderResponse, { kind: 'failed' }>;

/** Limit of one event in characters. A chunk of an answer is a few words. */
const maxEventLength = 1_048_576;

const usage = z.object({ prompt_tokens: z.int().min(0), completion_tokens: z.int().min(0) }).nullish();
const finish = z.string().nullish();
const error = z.object({ message: z.string().optional() }).nullish();
const part = z.object({
  choices: z.array(z.object({ delta: z.object({ content: z.string().nullish() }).nullish(), finish_reason: finish })).default([]),
  usage,
  error,
});
const whole = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }), finish_reason: finish })).min(1),
  usage,
});

export const answerOf = (response: Response, call: ModelCall): Promise<ProviderResponse> =>
  /^application\/json\b/i.test(response.headers.get('content-type') ?? '')
    ? wholeAnswer(response, call)
    : streamed(response, call);

async function streamed(response: Response, { onText }: ModelCall): Promise<ProviderResponse> {
  let text = '';
  let tokens: Tokens | undefined;
  let reason: string | undefined;
  try {
    for await (const data of eventData(response.body ?? emptyBody())) {
      if (data === '[DONE]') {
        reason ??= 'done';
        break;
      }
      const parsed = part.safeParse(jsonIn(data));
      if (!parsed.success) return invalidResponse('a chunk of the stream is not a chat completion chunk');
      if (parsed.data.error !== undefined && parsed.data.error !== null)
        return failed('provider_error', `the provider aborted the stream: ${parsed.data.error.message ?? 'no reason given'}`);
      tokens = tokensIn(parsed.data.usage) ?? tokens;
      const [choice] = parsed.data.choices;
      reason = choice?.finish_reason ?? reason;
      const delta = choice?.delta?.content ?? '';
      if (delta === '') continue;
      text += delta;
      if (text.length > maxResponseLength) return tooLong;
      onText?.(delta);
    }
  } catch (caught) {
    if (caught instanceof EventTooLong) return invalidResponse(caught.message);
    throw caught;
  }
  if (reason === undefined) return failed('stream_broken', 'the stream ended before the answer was complete');
  return completed(text, tokens, reason);
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

async function wholeAnswer(response: Response, { onText }: ModelCall): Promise<ProviderResponse> {
  const body = await textWithin(response, maxResponseLength);
  if (body === undefined) return tooLong;
  const parsed = whole.safeParse(jsonIn(body));
  const [choice] = parsed.success ? parsed.data.choices : [];
  if (!parsed.success || choice === undefined) return invalidResponse('the body is not a chat completion');
  onText?.(choice.message.content);
  return completed(choice.message.content, tokensIn(parsed.data.usage), choice.finish_reason ?? 'done');
}

const completed = (text: string, tokens: Tokens | undefined, finishReason: string): ProviderResponse =>
  defined({
    kind: 'completed',
    mediaType: 'text',
    text,
    tokens,
    metadata: { finishReason },
  });

const tokensIn = (reported: z.output<typeof usage>): Tokens | undefined =>
  reported === undefined || reported === null ? undefined : { input: reported.prompt_tokens, output: reported.completion_tokens };

const failed = (code: string, message: string): ProviderFailure => ({ kind: 'failed', cause: 'provider_error', code, message });
const invalidResponse = (message: string): ProviderFailure => failed('provider_answer_invalid', message);
const tooLong: ProviderFailure = {
  kind: 'failed',
  cause: 'invalid',
  code: 'answer_too_large',
  message: `the answer is longer than ${maxResponseLength} characters`,
};

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The data of each event. The last one counts although its blank line is missing, because some servers omit it. */
async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const parser = new EventStreamParser(maxEventLength);
  for await (const chunk of body) for (const part of parser.read(chunk)) if (part.kind === 'event') yield part.data;
  for (const part of parser.end()) if (part.kind === 'event') yield part.data;
}
