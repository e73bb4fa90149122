/** Reads an answer of the chat completions API: a stream of parts, or one body from those who do not stream. */
import type { Response } from 'undici';
import * as z from 'zod';
import type { ModelCall, ProviderAnswer, Tokens } from '../ports/models.ts';
import { EndlessLine, eventData } from './event-lines.ts';
import { textWithin } from './guarded-post.ts';

export type ProviderFailure = Extract<ProviderAnswer, { kind: 'failed' }>;

/** Of an answer's text, in characters; and of a whole body, in bytes. */
const longestAnswer = 4_194_304;

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

export const answerOf = (response: Response, call: ModelCall): Promise<ProviderAnswer> =>
  /^application\/json\b/i.test(response.headers.get('content-type') ?? '')
    ? wholeAnswer(response, call)
    : streamed(response, call);

async function streamed(response: Response, { say }: ModelCall): Promise<ProviderAnswer> {
  let text = '';
  let tokens: Tokens | undefined;
  let reason: string | undefined;
  try {
    for await (const data of eventData(response.body ?? nothing())) {
      if (data === '[DONE]') {
        reason ??= 'done';
        break;
      }
      const read = part.safeParse(jsonIn(data));
      if (!read.success) return rubbish('a part of the stream is not what chat completions are made of');
      if (read.data.error !== undefined && read.data.error !== null)
        return failed('provider_error', `the provider broke off: ${read.data.error.message ?? 'it gives no reason'}`);
      tokens = tokensIn(read.data.usage) ?? tokens;
      const [choice] = read.data.choices;
      reason = choice?.finish_reason ?? reason;
      const said = choice?.delta?.content ?? '';
      if (said === '') continue;
      text += said;
      if (text.length > longestAnswer) return tooLong;
      say?.(said);
    }
  } catch (trouble) {
    if (trouble instanceof EndlessLine) return rubbish(trouble.message);
    throw trouble;
  }
  if (reason === undefined) return failed('stream_broken', 'the stream ended in the middle of the answer');
  return answered(text, tokens, reason);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

async function wholeAnswer(response: Response, { say }: ModelCall): Promise<ProviderAnswer> {
  const body = await textWithin(response, longestAnswer);
  if (body === undefined) return tooLong;
  const read = whole.safeParse(jsonIn(body));
  const [choice] = read.success ? read.data.choices : [];
  if (!read.success || choice === undefined) return rubbish('the body is no chat completion');
  say?.(choice.message.content);
  return answered(choice.message.content, tokensIn(read.data.usage), choice.finish_reason ?? 'done');
}

const answered = (text: string, tokens: Tokens | undefined, finishReason: string): ProviderAnswer => ({
  kind: 'answered',
  mediaType: 'text',
  text,
  ...(tokens === undefined ? {} : { tokens }),
  metadata: { finishReason },
});

const tokensIn = (told: z.output<typeof usage>): Tokens | undefined =>
  told === undefined || told === null ? undefined : { input: told.prompt_tokens, output: told.completion_tokens };

const failed = (code: string, message: string): ProviderFailure => ({ kind: 'failed', cause: 'provider_error', code, message });
const rubbish = (message: string): ProviderFailure => failed('provider_answer_invalid', message);
const tooLong: ProviderFailure = {
  kind: 'failed',
  cause: 'invalid',
  code: 'answer_too_large',
  message: `the answer is longer than ${longestAnswer} characters`,
};

const jsonIn = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
