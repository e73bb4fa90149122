/**
 * Runs a lens node, in this order: check the attachments, render the template, check its size and the input contract, moderate the
 * prompt, call the model, moderate the answer, check the output contract. All of it is one attempt, so each step can cause a retry.
 */
import { defined } from '../../base/defined.ts';
import { MaskingStreamWriter } from '../../egress/secret-mask.ts';
import { mainHandle } from '../../engine/graph/outcome.ts';
import { checkPayload } from '../../engine/graph/payload-limits.ts';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { resolveTemplate, countedText } from '../../engine/graph/template.ts';
import { type JsonValue, inline } from '../../engine/json.ts';
import { envelopeJson, envelopeOf } from '../../lens/envelope.ts';
import type { Attachment, ModelResponse, Models } from '../../ports/models.ts';
import type { Moderation, ModerationPhase } from '../../ports/moderation.ts';
import type { Lenses } from '../../ports/versions.ts';
import { type NodeTools, type RunResult, type Runner, failed, runner, unlessAborted } from '../runner.ts';
import * as failure from './failure.ts';
import { type CompiledLens, LensVersions, promptOf } from './prompt.ts';
import { type LensConfig, lens } from './shape.ts';

/** Ports of lens nodes. */
export interface LensPorts {
  readonly lenses: Pick<Lenses, 'summary' | 'version'>;
  readonly models: Models;
  readonly moderation: Moderation;
}

type CompletedResponse = Extract<ModelResponse, { kind: 'completed' }>;

const defaultModel = 'default';

export const runLens = ({ lenses, models, moderation }: LensPorts): Runner => {
  const versions = new LensVersions(lenses);
  return runner(lens, async (config, input, tools) => {
    const ready = await versions.of(tools.scope, config.lens, config.version);
    if (ready === undefined) return failure.lensUnknown(config.lens, config.version);
    const model = config.model ?? ready.version.model ?? defaultModel;
    const refusal = await models.attachmentError(model, kindsOf(config));
    if (refusal !== undefined) return failure.modalityUnsupported(refusal);
    const prepared = promptOf(ready, { config, input, model, secrets: tools.secrets });
    if ('outcome' in prepared) return prepared;
    const { withInput } = prepared;
    const limit = AbortSignal.timeout(tools.timeoutMs);
    const signal = AbortSignal.any([tools.signal, limit]);
    const call: LensCall = { config, input, tools, model, prompt: prepared.prompt, signal };
    try {
      return withInput(await unlessAborted(execute({ models, moderation }, ready, call), call.signal));
    } catch (error) {
      tools.signal.throwIfAborted();
      if (limit.aborted) return withInput(failure.timeoutFailure(tools.timeoutMs, `lens ${config.lens}`));
      throw error;
    }
  });
};

interface LensCall {
  readonly config: LensConfig;
  readonly input: NodeInput;
  readonly tools: NodeTools;
  readonly model: string;
  readonly prompt: string;
  /** aborted at the end of the run or at the node's time limit */
  readonly signal: AbortSignal;
}

async function execute(
  { models, moderation }: Pick<LensPorts, 'models' | 'moderation'>,
  { version, checkOutput }: CompiledLens,
  { config, input, tools, model, prompt, signal }: LensCall,
): Promise<RunResult> {
  const moderate = async (phase: ModerationPhase, text: string): Promise<RunResult | undefined> =>
    isModerated(config, phase) ? failure.moderationResult(phase, await moderation.check(phase, text, signal)) : undefined;

  const before = await moderate('input', prompt);
  if (before !== undefined) return before;
  // Output that moderation checks is not streamed, because moderation needs the whole text.
  const streamWriter = isModerated(config, 'output') ? undefined : createStreamWriter(tools, signal);
  const answer = await models.execute(
    {
      modelId: model,
      prompt,
      params: { ...version.params, ...objectOf(config.params, input) },
      attachments: config.attachments.map((each) => attachmentOf(each, input)),
    },
    // One token per attempt: after a contract violation the provider must not return the same answer again.
    { signal, idempotencyToken: `${tools.token}/${tools.number}`, secrets: tools.secrets, ...streamWriter?.callOptions },
  );
  if (answer.kind === 'failed') return failure.modelFailed(answer);
  streamWriter?.parts.end();
  // Checked before the recursive steps: reading, validating and storing.
  const payloadFailure = checkPayload(inline({ data: answer.data ?? null, metadata: answer.metadata ?? null }));
  if (payloadFailure !== undefined) return counted(failed(payloadFailure), answer);
  const envelope = envelopeOf(version.kind, answer, {
    wantsData: version.output !== undefined,
    metadata: { lens: { name: version.name, version: version.version }, model, ...factsOf(answer) },
  });
  const after = await moderate('output', envelope.output);
  if (after !== undefined) return counted(after, answer);
  const errors = checkOutput(envelope);
  if (errors.length > 0) return counted(failure.contractViolated('output', errors), answer);
  const output = inline(envelopeJson(envelope));
  return counted({ outcome: { kind: 'finished', output, handle: mainHandle }, printed: [] }, answer);
}

/** Tokens are recorded for failed attempts too. Invalid counts are ignored. */
function counted(result: RunResult, { tokens }: CompletedResponse): RunResult {
  const { outcome } = result;
  if (tokens === undefined || !isCount(tokens.input) || !isCount(tokens.output)) return result;
  if (outcome.kind !== 'finished' && outcome.kind !== 'failed') return result;
  return { ...result, outcome: { ...outcome, tokens: { input: tokens.input, output: tokens.output } } };
}

const isCount = (count: number): boolean => Number.isSafeInteger(count) && count >= 0;

const isModerated = ({ moderation }: LensConfig, phase: ModerationPhase): boolean =>
  moderation === phase || moderation === 'both';

/** Streams the answer. Text after the end of the attempt is dropped. */
function createStreamWriter({ append, secrets }: NodeTools, signal: AbortSignal) {
  if (append === undefined) return undefined;
  const writer = new MaskingStreamWriter(
    () => secrets.mask,
    (text) => (signal.aborted ? undefined : append(text)),
  );
  return { parts: writer, callOptions: { onText: (text: string): void => writer.append(text) } };
}

const kindsOf = ({ attachments }: LensConfig): readonly Attachment['kind'][] => attachments.map(({ kind }) => kind);

function resolvedWithin(value: JsonValue, context: NodeInput['context']): JsonValue {
  const resolved = resolveTemplate(value, context);
  context.work.value(resolved);
  return resolved;
}

const objectOf = (params: LensConfig['params'], { context }: NodeInput) =>
  Object.fromEntries(Object.entries(params).map(([key, value]) => [key, resolvedWithin(value, context)]));

const attachmentOf = ({ kind, url, mimeType }: LensConfig['attachments'][number], { context }: NodeInput): Attachment =>
  defined({
    kind,
    url: countedText(resolveTemplate(url, context), context.work),
    mimeType,
  });

const factsOf = ({ tokens, durationMs }: CompletedResponse) =>
  defined({
    durationMs,
    tokens: tokens === undefined ? undefined : { ...tokens },
  });
