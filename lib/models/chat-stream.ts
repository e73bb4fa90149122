/** Reads a response of the chat completions API: a stream of chunks, or one JSON body from servers that do not stream. */
import { defined } from '../base/defined.ts';
import type { Response } from 'undici';
import * as z from 'zod';
import { type ModelCall, type ProviderResponse, type Tokens, maxResponseLength } from '../ports/models.ts';
import { textWithin } from './guarded-post.ts';

export type ProviderFailure = Extract<ProviderResponse, { kind: 'failed' }>;

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
    if (caught instanceof LineTooLong) return invalidResponse(caught.message);
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

/** Limit of one line in characters. A chunk of an answer is a few words. */
const maxLineLength = 1_048_576;

/** A line exceeds the limit. */
class LineTooLong extends Error {
  override readonly name = 'LineTooLong';
}

/**
 * Parses a stream of server-sent events (HTML standard, 9.2.6). Chunk borders may be anywhere.
 * @yields the `data:` lines of each event, joined; other fields are ignored
 */
async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let partialLine = '';
  let data: string[] = [];
  for await (const chunk of body) {
    partialLine += decoder.decode(chunk, { stream: true });
    // A carriage return at the end may be the first half of CRLF.
    const lines = partialLine.split(/\r\n|\n|\r(?!$)/);
    partialLine = lines.pop() ?? '';
    if (partialLine.length > maxLineLength) throw new LineTooLong('a line of the stream is too long');
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield data.join('\n');
        data = [];
      } else if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    }
  }
  // Some servers omit the final empty line. The caller detects an incomplete event.
  if (partialLine.startsWith('data:')) data.push(partialLine.slice(partialLine.startsWith('data: ') ? 6 : 5).trimEnd());
  if (data.length > 0) yield data.join('\n');
}
