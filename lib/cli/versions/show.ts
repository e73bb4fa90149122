/** `workflows get`, `lenses get` and `queries get`: what was published itself, so that it can be edited and published again. */
import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import type { Action } from '../command.ts';
import { argument, count, optionsIn, present } from '../given.ts';
import { type DeletionProgress, progressOf } from '../workflows/deletion-progress.ts';
import { type Kind, lenses, queries, workflows } from './kinds.ts';

const shape = z.object({ versionNumber: count(1, Number.MAX_SAFE_INTEGER).optional() });

interface Shown {
  readonly name: string;
  readonly version: number;
  readonly createdAt: string;
  readonly archivedAt?: string;
  readonly deletion?: DeletionProgress;
}
type Get<Answer> = (
  client: StepwellClient,
  name: string,
  query: { version?: number },
  calling: { readonly signal: AbortSignal },
) => Promise<Answer>;

const showing =
  <Answer extends Shown>(
    { name: named }: Pick<Kind<never, never>, 'name'>,
    get: Get<Answer>,
    again: (answer: Answer) => object,
  ): Action =>
  async (given, shell) => {
    const asked = argument(given, 0, 'name', named);
    const { versionNumber } = optionsIn(given, shape);
    const client = await shell.client();
    const answer = await get(client, asked, present({ version: versionNumber }), { signal: shell.signal });
    const { name, version, createdAt, archivedAt, deletion } = answer;
    const archived = archivedAt === undefined ? '' : `, archived ${archivedAt}`;
    const deleting = deletion === undefined ? '' : `, being deleted: ${progressOf(deletion)}`;
    shell.note(`${name}@${version}, created ${createdAt}${archived}${deleting}`);
    return { data: answer, text: JSON.stringify(again(answer), null, 2) };
  };

export const showWorkflow = showing(
  workflows,
  (client, ...asked) => client.getWorkflow(...asked),
  ({ name, nodes, edges, options }) => ({ name, nodes, edges, options }),
);
export const showLens = showing(
  lenses,
  (client, ...asked) => client.lenses.get(...asked),
  ({ name, kind, template, description, input, output, model, params }) => ({
    name,
    kind,
    template,
    description,
    input,
    output,
    model,
    params,
  }),
);
export const showQuery = showing(
  queries,
  (client, ...asked) => client.queries.get(...asked),
  ({ query }) => query,
);
