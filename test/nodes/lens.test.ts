/** The lens node: the order of its checks, models and moderation. */
import { describe, expect, test } from 'vitest';
import { attempt, environment, firstAttempt, lensName, projectId } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import { durationMs, instant, seconds } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { memoryLenses } from '../../lib/memory/versions.ts';
import { ConfiguredModels } from '../../lib/models/configured-models.ts';
import { DeterministicModel } from '../../lib/models/deterministic-model.ts';
import { WordModeration, noModeration } from '../../lib/models/moderation.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import type { LensVersion } from '../../lib/ports/lenses.ts';
import type { ModelResponse, ModelCall, ModelRequest, Models } from '../../lib/ports/models.ts';
import type { Moderation } from '../../lib/ports/moderation.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { found, inputOf, outputOf, planNode, policyFor, toolsOf } from './given.ts';

const scope = { projectId: projectId('acme'), environment: environment('test') };
const now = instant(0);

interface Given {
  readonly lens?: Partial<LensVersion>;
  readonly config?: JsonObject;
  readonly inputs?: JsonObject;
  readonly context?: JsonObject;
  readonly answer?: ModelResponse | ((request: ModelRequest, call: ModelCall) => Promise<ModelResponse>);
  readonly moderation?: Moderation;
  readonly refusal?: (kinds: readonly string[]) => string | undefined;
  readonly tools?: Partial<ReturnType<typeof toolsOf>>;
}

const answered = (text: string): ModelResponse => ({
  kind: 'completed',
  mediaType: 'text',
  text,
  tokens: { input: 3, output: 1 },
  durationMs: durationMs(12),
  metadata: { finishReason: 'stop' },
});

const run = async (given: Given = {}) => {
  const lenses = memoryLenses();
  const version = { name: lensName('tone'), version: 1, kind: 'text', template: 'Say [[what]]', ...given.lens } as const;
  await lenses.putVersion(scope, version, now);
  await lenses.advance(scope, version, now);
  const requests: (ModelRequest & { token: string })[] = [];
  const heard: string[] = [];
  const models: Models = {
    attachmentError: async (_modelId, kinds) => given.refusal?.(kinds),
    execute: async (request, call) => {
      requests.push({ ...request, token: call.idempotencyToken });
      if (typeof given.answer === 'function') return given.answer(request, call);
      call.onText?.('Hel');
      call.onText?.('lo');
      return given.answer ?? answered('Hello');
    },
  };
  const runners = createRunners({ lens: { lenses, models, moderation: given.moderation ?? new WordModeration(['forbidden']) } });
  const { outcome } = await createAttemptRunner(runners)(
    planNode('lens', { lens: 'tone', ...given.config }),
    inputOf(given.context ?? {}, given.inputs ?? { what: 'hello' }),
    { ...toolsOf(), append: (text) => void heard.push(text), ...given.tools },
  );
  const failure = outcome.kind === 'failed' ? outcome.failure : undefined;
  return { outcome, requests, heard, failed: failure === undefined ? outcome.kind : `${failure.cause} ${failure.code}`, failure };
};

describe('a failed attempt', () => {
  const refused: ModelResponse = { kind: 'failed', cause: 'invalid', code: 'params_invalid', message: 'no' };

  test('keeps the lens, its version, the model and the prompt', async () => {
    const { failure } = await run({ answer: refused });
    expect(failure?.details).toMatchObject({ input: { lens: 'tone', version: 1, model: 'default', prompt: 'Say hello' } });
  });

  test('keeps the first 1,000 characters of a long prompt', async () => {
    const { failure } = await run({ answer: refused, inputs: { what: 'x'.repeat(5_000) } });
    expect(failure?.details).toMatchObject({ input: { prompt: `${`Say ${'x'.repeat(5_000)}`.slice(0, 1_000)}…` } });
  });

  test('without a prompt keeps its values', async () => {
    const { failure } = await run({ config: { paramOverrides: { other: '{{ctx.n}}' } }, context: { n: 7 }, inputs: {} });
    expect(failure).toMatchObject({ code: 'placeholder_unbound', details: { input: { values: { other: 7 } } } });
  });
});

describe('the output', () => {
  test('an envelope with the text, the lens, the model, tokens and time', async () => {
    const { outcome, requests } = await run();
    expect(outputOf(outcome)).toEqual({
      kind: 'text',
      artifactKind: 'text',
      output: 'Hello',
      metadata: {
        finishReason: 'stop',
        lens: { name: 'tone', version: 1 },
        model: 'default',
        durationMs: 12,
        tokens: { input: 3, output: 1 },
      },
    });
    expect(requests).toEqual([{ modelId: 'default', prompt: 'Say hello', params: {}, attachments: [], token: 'run/node/1/1' }]);
  });

  test('media are referenced by URL, never by bytes', async () => {
    const answer = {
      kind: 'completed',
      mediaType: 'image',
      url: 'https://example.com/a.png',
      mimeType: 'image/png',
      bytes: 1_234,
      durationMs: durationMs(1),
    } as const;
    const { outcome } = await run({ lens: { kind: 'image' }, answer });
    expect(outputOf(outcome)).toMatchObject({
      kind: 'image',
      artifactKind: 'image',
      output: 'https://example.com/a.png',
      media: { url: 'https://example.com/a.png', mime: 'image/png', bytes: 1_234 },
    });
  });

  test('an answer with a contract has data', async () => {
    const lens = { output: { fields: { score: { type: 'integer' as const, required: true } } } };
    expect(outputOf((await run({ lens, answer: answered('```json\n{"score":7}\n```') })).outcome)).toMatchObject({
      data: { score: 7 },
    });
  });
});

describe('the tokens that it reports', () => {
  const spent = async (given: Given) => {
    const { outcome } = await run(given);
    return outcome.kind === 'finished' || outcome.kind === 'failed' ? outcome.tokens : undefined;
  };
  const counting = (input: number): ModelResponse => {
    const answer = answered('x');
    return answer.kind === 'completed' ? { ...answer, tokens: { input, output: 1 } } : answer;
  };
  const strict = { output: { fields: { score: { type: 'integer' as const, required: true } } } };

  test('are those of the model, also for a failed attempt', async () => {
    expect(await spent({})).toEqual({ input: 3, output: 1 });
    expect(await spent({ lens: strict })).toEqual({ input: 3, output: 1 });
    expect(await spent({ config: { moderation: 'output' }, answer: answered('forbidden') })).toEqual({ input: 3, output: 1 });
  });

  test('are absent without a call, without a count, or with an invalid count', async () => {
    expect(await spent({ inputs: {} })).toBeUndefined();
    expect(
      await spent({ answer: { kind: 'completed', mediaType: 'text', text: 'x', durationMs: durationMs(1) } }),
    ).toBeUndefined();
    for (const bad of [-1, 0.5, Number.NaN, 2 ** 60]) expect(await spent({ answer: counting(bad) })).toBeUndefined();
  });
});

describe('the request', () => {
  test('the node’s model and params override the lens’s, and their templates are resolved', async () => {
    const { requests } = await run({
      lens: { model: 'large', params: { temperature: 0.1, topP: 1 } },
      config: {
        params: { temperature: '{{ctx.heat}}' },
        attachments: [{ kind: 'image', url: 'https://example.com/{{ctx.file}}', mimeType: 'image/png' }],
      },
      context: { heat: 0.9, file: 'a.png' },
    });
    expect(requests[0]).toMatchObject({ modelId: 'large', params: { temperature: 0.9, topP: 1 } });
    expect(requests[0]?.attachments).toEqual([{ kind: 'image', url: 'https://example.com/a.png', mimeType: 'image/png' }]);
    expect((await run({ lens: { model: 'large' }, config: { model: 'small' } })).requests[0]?.modelId).toBe('small');
  });

  test.each(['paramOverrides', 'param_overrides'])(
    '%s win over what edges bring, in any spelling of upper and lower case of the label',
    async (key) => {
      const config = { [key]: { What: '[[first.data.word]]', tone: '{{ctx.tone}}' } };
      const { requests } = await run({
        lens: { template: '[[what]] [[tone]] [[rest]]' },
        config,
        inputs: { what: 'no', rest: 'yes' },
        context: { tone: 'calm', __node_first: { status: 'completed', output: { data: { word: 'rain' } } } },
      });
      expect(requests[0]?.prompt).toBe('rain calm yes');
    },
  );

  test.each([
    ['[[first.words.1]]', 'sun'],
    ['[[first.words.1.length]]', undefined],
    ['[[first.words.length]]', undefined],
    ['[[first.words.7]]', undefined],
  ])('an override may select from a list: %s', async (what, found) => {
    const context = { __node_first: { status: 'completed', output: { words: ['rain', 'sun'] } } };
    const { requests } = await run({ config: { paramOverrides: { what } }, context });
    expect(requests[0]?.prompt).toBe(found === undefined ? undefined : `Say ${found}`);
  });

  test('an override without a result is no value', async () => {
    expect((await run({ config: { paramOverrides: { what: '[[nobody.output]]' } } })).failed).toBe('invalid placeholder_unbound');
  });

  test('each attempt has its own token, the same on redelivery', async () => {
    const tokens = [];
    for (const number of [firstAttempt, firstAttempt, attempt(2)])
      tokens.push((await run({ tools: { number } })).requests[0]?.token);
    expect(tokens).toEqual(['run/node/1/1', 'run/node/1/1', 'run/node/1/2']);
  });

  test('the node’s version is used, else the latest', async () => {
    const lenses = memoryLenses();
    const [name, other] = [lensName('tone'), { ...scope, environment: environment('live') }];
    for (const version of [1, 2]) {
      await lenses.putVersion(scope, { name, version, kind: 'text', template: `v${version}` }, now);
      await lenses.advance(scope, { name, version }, now);
    }
    await lenses.archive(scope, name, now);
    const clock = new MemoryClock(now);
    const models = new ConfiguredModels(
      async () => ({ default: { provider: 'deterministic' } }),
      async () => new DeterministicModel(clock),
      clock,
    );
    const attemptBy = createAttemptRunner(createRunners({ lens: { lenses, models, moderation: noModeration } }));
    const ask = async (config: JsonObject, of = scope) => {
      const { outcome } = await attemptBy(planNode('lens', { lens: 'tone', ...config }), inputOf(), { ...toolsOf(), scope: of });
      return outcome.kind === 'failed' ? outcome.failure.code : outputOf(outcome);
    };
    expect(await ask({})).toMatchObject({ output: 'v2', metadata: { lens: { version: 2 } } });
    expect(await ask({ version: 1 })).toMatchObject({ output: 'v1', metadata: { lens: { version: 1 } } });
    expect(await ask({ version: 3 })).toBe('lens_unknown');
    expect(await ask({ lens: 'other' })).toBe('lens_unknown');
    // … and of no other project.
    expect(await ask({}, other)).toBe('lens_unknown');
    expect(await ask({ version: 1 }, other)).toBe('lens_unknown');
  });
});

describe('its checks, in order', () => {
  test('a placeholder without a value blocks the node', async () => {
    const { failure, requests } = await run({
      inputs: { other: 'x' },
      lens: { input: { fields: { what: { type: 'string', required: true } } } },
    });
    expect(failure).toMatchObject({
      cause: 'invalid',
      code: 'placeholder_unbound',
      status: 'blocked',
      details: { labels: ['what'] },
    });
    expect(requests).toEqual([]);
  });

  test('a prompt of more than 512 KB is not sent', async () => {
    const { failed, requests } = await run({ inputs: { what: 'ü'.repeat(262_144) } });
    expect([failed, requests]).toEqual(['invalid context_too_large', []]);
    expect((await run({ inputs: { what: 'x'.repeat(524_284) } })).failed).toBe('finished');
  });

  test('a prompt that would exceed memory is not built', async () => {
    const { failed, requests } = await run({
      lens: { template: '[[what]]'.repeat(10_000) },
      inputs: { what: 'x'.repeat(100_000) },
    });
    expect([failed, requests]).toEqual(['invalid context_too_large', []]);
  });

  test('a violated input contract is reported, and no model is called', async () => {
    const errors = [{ field: 'what', reason: 'type_mismatch', details: 'must be number' }];
    const { outcome, requests } = await run({
      lens: { input: { fields: { what: { type: 'number' } } } },
      config: { moderation: 'both' },
    });
    expect(outcome).toMatchObject({
      failure: { cause: 'contract_violated', code: 'input_contract_violation', details: { phase: 'input', errors } },
      gate: { kind: 'contract', phase: 'input', errors },
    });
    expect(outcome).not.toHaveProperty('failure.status');
    expect(requests).toEqual([]);
  });

  test.each([
    ['input', 'input', 0],
    ['both', 'input', 0],
    ['output', 'output', 1],
  ])('moderation %s blocks a forbidden %s', async (moderation, phase, asked) => {
    const inputs = { what: phase === 'input' ? 'what is forbidden' : 'hello' };
    const { outcome, requests, heard } = await run({ config: { moderation }, inputs, answer: answered('this is forbidden') });
    expect(outcome).toMatchObject({
      failure: { cause: 'forbidden', code: 'moderation_blocked' },
      gate: { kind: 'moderation', phase, decision: { policy: 'words' } },
    });
    expect(requests).toHaveLength(asked);
    expect(heard).toEqual([]);
  });

  test('moderation that is off blocks nothing', async () => {
    const forbidden = { inputs: { what: 'forbidden' }, answer: answered('forbidden') };
    expect((await run(forbidden)).failed).toBe('finished');
    expect((await run({ ...forbidden, config: { moderation: 'off' } })).failed).toBe('finished');
  });

  test.each(['input', 'output', 'both'])('moderation %s that is unavailable blocks the text', async (moderation) => {
    const down: Moderation = { check: async () => ({ kind: 'unavailable', message: 'it is down' }) };
    const { failed, requests } = await run({ config: { moderation }, moderation: down });
    expect([failed, requests.length]).toEqual(['provider_error moderation_unavailable', moderation === 'output' ? 1 : 0]);
    expect((await run({ config: { moderation }, moderation: noModeration })).failed).toBe(
      'provider_error moderation_unavailable',
    );
  });

  test('an answer that violates its contract fails the node, after moderation', async () => {
    const lens = { output: { fields: { score: { type: 'integer' as const, max: 5 } } } };
    const { outcome } = await run({ lens, answer: answered('{"score":7}') });
    const errors = [{ field: 'score', reason: 'above_max', details: 'must be <= 5' }];
    expect(outcome).toMatchObject({
      failure: { cause: 'contract_violated', code: 'output_contract_violation', status: 'invalidated' },
      gate: { kind: 'contract', phase: 'output', errors },
    });
    const both = await run({ lens, config: { moderation: 'output' }, answer: answered('forbidden') });
    expect(both.failed).toBe('forbidden moderation_blocked');
  });
});

describe('a key in the answer of the model', () => {
  const key = 'sk-a-very-secret-key';
  const echo =
    (answer: ModelResponse) =>
    async (_request: ModelRequest, { onText, secrets }: ModelCall) => {
      secrets.addRedaction('key', key);
      for (const letter of `I was sent ${key}.`) onText?.(letter);
      return answer;
    };

  test('is masked in the streamed text and the envelope', async () => {
    const metadata = { finishReason: key, [key]: [key] };
    const answer: ModelResponse = {
      kind: 'completed',
      mediaType: 'text',
      text: `I was sent ${key}.`,
      durationMs: durationMs(1),
      metadata,
    };
    const { outcome, heard } = await run({ answer: echo(answer) });
    expect(heard.join('')).toBe('I was sent [secret:key].');
    expect(outputOf(outcome)).toMatchObject({ output: 'I was sent [secret:key].' });
    expect(JSON.stringify(outcome)).not.toContain(key);
  });

  test('is masked in failures and gate events', async () => {
    const failed: ModelResponse = { kind: 'failed', cause: 'invalid', code: 'provider_refused', message: `no: ${key}` };
    expect((await run({ answer: echo(failed) })).failure?.message).toBe('no: [secret:key]');
    const answer: ModelResponse = { ...answered(`{"${key}":1}`) };
    const strict = { output: { jsonSchema: { type: 'object', additionalProperties: false } } };
    const { outcome } = await run({ answer: echo(answer), lens: strict });
    expect(outcome).toMatchObject({ gate: { errors: [{ field: expect.stringContaining('[secret:key]') }] } });
    expect(JSON.stringify(outcome)).not.toContain(key);
  });
});

describe('streamed text', () => {
  test('is sent as it arrives', async () => {
    expect((await run()).heard).toEqual(['Hel', 'lo']);
  });

  test('is not sent if the output is moderated', async () => {
    for (const moderation of ['output', 'both']) expect((await run({ config: { moderation } })).heard).toEqual([]);
    expect((await run({ config: { moderation: 'input' } })).heard).toEqual(['Hel', 'lo']);
  });
});

describe('a model', () => {
  test.each([
    ['provider_error', 'stream_broken', {}],
    ['rate_limit', 'provider_rate_limit', { retryAfterMs: durationMs(7_000) }],
    ['invalid', 'model_unknown', {}],
  ] as const)('that fails with %s fails the node with it', async (cause, code, more) => {
    const { outcome } = await run({ answer: { kind: 'failed', cause, code, message: 'no', ...more } });
    const details = { input: { lens: 'tone', version: 1, model: 'default', prompt: 'Say hello' } };
    expect(outcome).toEqual({ kind: 'failed', failure: { cause, code, message: 'no', details }, ...more });
  });

  test('that does not accept an attachment blocks the node before rendering, moderation and costs', async () => {
    const attachments = [{ kind: 'audio', url: 'https://example.com/a.mp3' }];
    const { failure, requests } = await run({
      config: { attachments, moderation: 'both' },
      inputs: { other: 'x' },
      moderation: { check: () => Promise.reject(new Error('moderation was asked')) },
      refusal: (kinds) => `no ${kinds.join()}`,
    });
    expect(failure).toEqual({ cause: 'invalid', code: 'modality_unsupported', message: 'no audio', status: 'blocked' });
    expect(requests).toEqual([]);
  });

  test('that hangs is aborted at the node’s time limit, and later text is dropped', async () => {
    let aborted: unknown;
    let late: (() => void) | undefined;
    const { failed, failure, heard } = await run({
      config: { timeoutMs: 1_000 },
      answer: (_request, { signal, onText }) =>
        new Promise(() => {
          late = () => onText?.('too late');
          signal.addEventListener('abort', () => (aborted = signal.reason));
        }),
    });
    late?.();
    expect([failed, heard]).toEqual(['timeout lens_timeout', []]);
    expect(failure).toMatchObject({ details: { timeoutMs: 1_000 } });
    expect(aborted).toBeInstanceOf(DOMException);
  });

  test('is aborted when the run ends, which is not a timeout', async () => {
    const stop = new AbortController();
    const running = run({
      tools: { signal: stop.signal },
      answer: () => {
        stop.abort(new Error('the run has ended'));
        return new Promise(() => {});
      },
    });
    await expect(running).rejects.toThrow('the run has ended');
  });

  test('whose key cannot be read now is called on redelivery', async () => {
    await expect(run({ answer: () => Promise.reject(new Unavailable('the secrets')) })).rejects.toThrow(Unavailable);
  });
});

describe('its config', () => {
  test('has the lens document’s defaults', () => {
    const { retry, timeoutMs, outputVariable } = policyFor({ lens: 'tone' }, 'lens');
    expect({ retry, timeoutMs, outputVariable }).toEqual({
      retry: {
        attempts: 1,
        backoffMs: 500,
        maxBackoffMs: 8_000,
        retryOn: ['timeout', 'provider_error', 'rate_limit'],
        jitter: 'half',
      },
      timeoutMs: seconds(60),
      outputVariable: 'lensOutput',
    });
    const own = policyFor({ retry: { attempts: 3, retry_on: ['contract_violated'] }, timeout_ms: 5_000 }, 'lens');
    expect([own.retry.attempts, own.retry.retryOn, own.timeoutMs]).toEqual([3, ['contract_violated'], 5_000]);
  });

  test.each<[string, JsonObject, readonly string[]]>([
    ['a sound one', { lens: 'tone', version: 2, model: 'm', params: { a: 1 }, moderation: 'both' }, []],
    ['no lens', {}, ['config_invalid /nodes/0/config/lens']],
    ['a version that is none', { lens: 'tone', version: 0 }, ['config_invalid /nodes/0/config/version']],
    ['another moderation', { lens: 'tone', moderation: 'some' }, ['config_invalid /nodes/0/config/moderation']],
    [
      'both spellings',
      { lens: 'tone', paramOverrides: {}, param_overrides: {} },
      ['config_invalid /nodes/0/config/param_overrides'],
    ],
    [
      'a broken template',
      { lens: 'tone', paramOverrides: { a: '{{what}}' } },
      ['template_invalid /nodes/0/config/paramOverrides/a'],
    ],
    ['an unknown key', { lens: 'tone', prompt: 'x' }, ['config_key_unknown /nodes/0/config/prompt']],
  ])('%s', (_what, config, expected) => {
    expect(found('lens', config)).toEqual(expected);
  });

  test('a worker without models runs no lens nodes', async () => {
    const { outcome } = await createAttemptRunner(createRunners())(planNode('lens', { lens: 'tone' }), inputOf(), toolsOf());
    expect(outcome).toMatchObject({ kind: 'failed', failure: { code: 'node_type_unknown' } });
  });
});
