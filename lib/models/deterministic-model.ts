/**
 * A deterministic model for tests, examples and installations without a provider. It streams its prompt, or `params.reply`, word
 * by word. `params.delayMs` is the pause after each word; `params.media` is a media answer.
 */
import { defined } from '../base/defined.ts';
import * as z from 'zod';
import { durationMs } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { ModelCall, ModelProvider, ModelRequest, ProviderResponse } from '../ports/models.ts';

const params = z.object({
  reply: z.string().optional(),
  delayMs: z.int().min(0).max(1_000).default(0),
  media: z
    .object({
      mediaType: z.enum(['image', 'video', 'audio', 'pdf']),
      url: z.url(),
      mimeType: z.string().optional(),
    })
    .optional(),
});

export class DeterministicModel implements ModelProvider {
  readonly #clock: Pick<Clock, 'sleep'>;

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  attachmentError(): undefined {
    return undefined;
  }

  async execute(request: Omit<ModelRequest, 'modelId'>, { signal, onText }: ModelCall): Promise<ProviderResponse> {
    const parsed = params.safeParse(request.params);
    if (!parsed.success) {
      const message = `the deterministic model cannot use its params: ${z.prettifyError(parsed.error)}`;
      return { kind: 'failed', cause: 'invalid', code: 'params_invalid', message };
    }
    const { reply: text = request.prompt, delayMs, media } = parsed.data;
    // Each word includes its spaces, so that the streamed parts add up to the text.
    const words = text.match(/\s*\S+\s*/g) ?? [];
    for (const word of words) {
      signal.throwIfAborted();
      onText?.(word);
      if (delayMs > 0) await this.#clock.sleep(durationMs(delayMs), signal);
    }
    signal.throwIfAborted();
    const tokens = { input: request.prompt.match(/\S+/g)?.length ?? 0, output: words.length };
    if (media === undefined) return { kind: 'completed', mediaType: 'text', text, tokens };
    const { mediaType, url, mimeType } = media;
    return defined({ kind: 'completed', mediaType, url, tokens, mimeType });
  }
}
