/** Lens nodes: input and output contracts, moderation, and the cost of an invalid answer. */
import { expect } from 'vitest';
import { lensName } from '../../../lib/engine/ids.ts';
import type { JsonObject } from '../../../lib/engine/json.ts';
import { durationMs } from '../../../lib/engine/time.ts';
import type { Lens } from '../../../lib/ports/lenses.ts';
import type { ModelResponse } from '../../../lib/ports/models.ts';
import { flaggedWord } from '../lens-attempts.ts';
import type { Topology } from '../topology.ts';

const score: Lens = {
  name: lensName('score'),
  kind: 'text',
  template: 'Score [[what]]',
  input: { fields: { what: { type: 'string', required: true, maxLength: 30 } } },
  output: { fields: { score: { type: 'integer', required: true, min: 1 } } },
};
const plain: Lens = { name: lensName('plain'), kind: 'text', template: 'Say [[what]]' };

const asks = (lens: string, config: JsonObject = {}): JsonObject => ({ type: 'lens', lens, ...config });
const twice: JsonObject = { retry: { attempts: 2, retryOn: ['contract_violated', 'provider_error'] } };

const says = (text: string): ModelResponse => ({
  kind: 'completed',
  mediaType: 'text',
  text,
  tokens: { input: 3, output: 1 },
  durationMs: durationMs(12),
});
const good = says('{"score":7}');
const troubled: ModelResponse = { kind: 'failed', cause: 'provider_error', code: 'model_unavailable', message: 'on purpose' };

const scored: Pick<Topology, 'edges' | 'lenses' | 'input'> = {
  edges: ['start -> ask -> next', 'ask/error -> rescue'],
  lenses: [score],
  input: { what: 'a tent' },
};

export const lenses: readonly Topology[] = [
  {
    ...scored,
    name: 'lens',
    description: 'A lens whose contracts hold returns its envelope: the data and its cost.',
    edges: ['start -> ask -> end'],
    nodes: {
      ask: asks('score', { outputVariable: 'scored' }),
      end: {
        type: 'end',
        outputParameters: [
          { name: 'score', sourceVariable: '{{ctx.scored.data.score}}' },
          { name: 'tokens', sourceVariable: '{{ctx.scored.metadata.tokens}}' },
          { name: 'lens', sourceVariable: '{{ctx.scored.metadata.lens}}' },
        ],
      },
    },
    answers: { ask: [good] },
    verify: ({ output, of }) => {
      expect(output).toEqual({ score: 7, tokens: { input: 3, output: 1 }, lens: { name: 'score', version: 1 } });
      expect(of('node.started', 'ask')).toHaveLength(1);
    },
  },
  {
    ...scored,
    name: 'lens-contract-violated',
    description:
      'A model answer that violates the contract is reported and retried when the policy names the cause; the valid answer is used.',
    nodes: { ask: asks('score', twice) },
    answers: { ask: [says('seven'), good] },
    verify: ({ runsOf, of, status }) => {
      expect([runsOf('ask'), runsOf('next'), runsOf('rescue'), status]).toEqual([2, 1, 0, 'completed']);
      expect(of('contract.violated')).toMatchObject([{ attempt: 1, phase: 'output', errors: [{ field: 'data' }] }]);
    },
  },
  {
    ...scored,
    name: 'lens-contract-violated-to-the-end',
    description:
      'When every model answer violates the contract, each one is reported, the last one fails the node, and the error edge is taken.',
    nodes: { ask: asks('score', twice) },
    answers: { ask: [says('seven'), says('{"score":0}')] },
    verify: ({ runsOf, of, statusOf, status }) => {
      expect([runsOf('ask'), runsOf('rescue'), statusOf('next'), status]).toEqual([2, 1, 'skipped', 'completed']);
      expect(of('contract.violated').map(({ attempt }) => attempt)).toEqual([1, 2]);
      expect(of('node.invalidated', 'ask')).toMatchObject([{ failure: { code: 'output_contract_violation' } }]);
    },
  },
  {
    ...scored,
    name: 'lens-contract-violated-unnamed',
    description:
      'A contract violation is not retried when the policy does not name the cause, and fails the run without an error edge.',
    edges: ['start -> ask -> next'],
    nodes: { ask: asks('score', { retry: { attempts: 3 } }) },
    answers: { ask: [says('seven')] },
    verify: ({ runsOf, of, status }) => expect([runsOf('ask'), of('contract.violated').length, status]).toEqual([1, 1, 'failed']),
  },
  {
    ...scored,
    name: 'lens-input-contract-violated',
    description: 'Values that violate the input contract are not sent to the model.',
    nodes: { ask: asks('score') },
    input: { what: 'x'.repeat(31) },
    verify: ({ runsOf, of }) => {
      expect([runsOf('ask'), runsOf('rescue')]).toEqual([1, 1]);
      expect(of('contract.violated')).toMatchObject([{ phase: 'input', errors: [{ field: 'what' }] }]);
    },
  },
  {
    ...scored,
    name: 'lens-unbound',
    description: 'A placeholder without a value fails the node before it calls the model.',
    nodes: { ask: asks('score') },
    input: {},
    verify: ({ runsOf, of }) => {
      expect(runsOf('rescue')).toBe(1);
      expect(of('node.blocked', 'ask')).toMatchObject([{ failure: { code: 'placeholder_unbound' } }]);
    },
  },
  {
    ...scored,
    name: 'lens-moderation-of-the-prompt',
    description: 'A prompt that moderation flags is reported, is not sent to the model and is not retried.',
    lenses: [plain],
    nodes: { ask: asks('plain', { moderation: 'both', retry: { attempts: 3 } }) },
    input: { what: `about ${flaggedWord}` },
    verify: ({ runsOf, of }) => {
      expect([runsOf('ask'), runsOf('rescue')]).toEqual([1, 1]);
      expect(of('moderation.flagged')).toMatchObject([{ phase: 'input', decision: { policy: 'words' } }]);
      expect(of('node.failed', 'ask')).toMatchObject([{ failure: { cause: 'forbidden', code: 'moderation_blocked' } }]);
    },
  },
  {
    ...scored,
    name: 'lens-moderation-of-the-answer',
    description: 'A model answer that moderation flags is not passed on, and the error edge is taken.',
    lenses: [plain],
    nodes: { ask: asks('plain', { moderation: 'output' }) },
    answers: { ask: [says(`mix the ${flaggedWord}`)] },
    verify: ({ runsOf, of, statusOf }) => {
      expect([runsOf('rescue'), statusOf('next')]).toEqual([1, 'skipped']);
      expect(of('moderation.flagged')).toMatchObject([{ phase: 'output' }]);
    },
  },
  {
    ...scored,
    name: 'lens-moderation-not-configured',
    description: 'A lens without moderation settings passes every model answer on.',
    lenses: [plain],
    nodes: { ask: asks('plain') },
    input: { what: flaggedWord },
    answers: { ask: [says(flaggedWord)] },
    verify: ({ of, status }) => expect([of('moderation.flagged'), status]).toEqual([[], 'completed']),
  },
  {
    ...scored,
    name: 'lens-provider-error',
    description: 'A provider error is retried after between half and all of the retry delay of the lens family.',
    nodes: { ask: asks('score', { retry: { attempts: 2 } }) },
    answers: { ask: [troubled, good] },
    verify: ({ runsOf, of, status }) => {
      expect([runsOf('ask'), status]).toEqual([2, 'completed']);
      // The test's jitter is always the middle of its range.
      expect(of('node.retried', 'ask')).toMatchObject([{ delayMs: 375, failure: { cause: 'provider_error' } }]);
    },
  },
  {
    name: 'lens-unknown',
    description: 'A node with an unknown lens fails without a retry.',
    edges: ['start -> ask -> next', 'ask/error -> rescue'],
    nodes: { ask: asks('nobody', { retry: { attempts: 3 } }) },
    verify: ({ runsOf, of }) => {
      expect([runsOf('ask'), runsOf('rescue')]).toEqual([1, 1]);
      expect(of('node.failed', 'ask')).toMatchObject([{ failure: { code: 'lens_unknown' } }]);
    },
  },
  {
    ...scored,
    name: 'lens-in-a-loop',
    description:
      'A lens in a loop calls the model once per item, and a contract violation of one item does not affect the others.',
    edges: ['start -> l', 'l/loop -> ask', 'l/done -> end'],
    nodes: {
      l: { type: 'loop', sourceVariable: '{{ctx.input.items}}', onItemFailure: 'continue' },
      ask: asks('score', { paramOverrides: { what: '{{ctx.item}}' } }),
      end: { type: 'end', outputParameters: [{ name: 'results', sourceVariable: '{{ctx.loopResults}}' }] },
    },
    input: { items: ['a tent', 'x'.repeat(31)] },
    answers: { ask: [good] },
    verify: ({ output, of }) => {
      expect(output).toMatchObject({ results: [{ data: { score: 7 } }, { success: false }] });
      expect(of('contract.violated')).toMatchObject([{ iteration: 'l[1]', phase: 'input' }]);
    },
  },
];
