/** `workflows get`, `lenses get` and `queries get`: what was published itself, so that it can be edited and published again. */
import * as z from 'zod';
import type { StepwellClient } from '../../client/index.ts';
import type { Action } from '../command.ts';
import { parseArgument, integerBetween, parseOptions, omitUndefined } from '../parse-command-line.ts';
import { type DeletionProgress, formatDeletionProgress } from '../workflows/deletion-progress.ts';
import { type VersionedResource, lenses, queries, workflows } from './versioned-resource.ts';

const shape = z.object({ versionNumber: integerBetween(1, Number.MAX_SAFE_INTEGER).optional() });

interface ShownVersion {
  readonly name: string;
  readonly version: number;
  readonly createdAt: string;
  readonly archivedAt?: string;
  readonly deletion?: DeletionProgress;
}
type Get<ShownResponse> = (
  client: StepwellClient,
  name: string,
  query: { version?: number },
  callOptions: { readonly signal: AbortSignal },
) => Promise<ShownResponse>;

const createShowAction =
  <ShownResponse extends ShownVersion>(
    { name: nameSchema }: Pick<VersionedResource<never, never>, 'name'>,
    get: Get<ShownResponse>,
    toPublishable: (response: ShownResponse) => object,
  ): Action =>
  async (commandLine, context) => {
    const requested = parseArgument(commandLine, 0, 'name', nameSchema);
    const { versionNumber } = parseOptions(commandLine, shape);
    const client = await context.client();
    const response = await get(client, requested, omitUndefined({ version: versionNumber }), { signal: context.signal });
    const { name, version, createdAt, archivedAt, deletion } = response;
    const archived = archivedAt === undefined ? '' : `, archived ${archivedAt}`;
    const deleting = deletion === undefined ? '' : `, being deleted: ${formatDeletionProgress(deletion)}`;
    context.log(`${name}@${version}, created ${createdAt}${archived}${deleting}`);
    return { data: response, text: JSON.stringify(toPublishable(response), null, 2) };
  };

export const showWorkflow = createShowAction(
  workflows,
  (client, ...requested) => client.getWorkflow(...requested),
  ({ name, nodes, edges, options }) => ({ name, nodes, edges, options }),
);
export const showLens = createShowAction(
  lenses,
  (client, ...requested) => client.lenses.get(...requested),
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
export const showQuery = createShowAction(
  queries,
  (client, ...requested) => client.queries.get(...requested),
  ({ query }) => query,
);
