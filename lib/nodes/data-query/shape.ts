/**
 * Asks a stored query. What is asked, of whom and with which bounds stands in the query; the node says which one, and
 * with which arguments.
 */
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { queryNamePattern } from '../../engine/ids.ts';
import type { ConfigFinding } from '../finding.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';
import { jsonValue } from '../template-text.ts';

const name = z.string().regex(queryNamePattern, 'must be the name of a query');
const values = z.record(z.string(), jsonValue);

const schema = z.object({
  query: name.exactOptional(),
  /** the older name of `query` */
  dataQueryID: name.exactOptional(),
  /** absent: the latest, whichever that is when the node runs */
  version: z.int().min(1).exactOptional(),
  /** by parameter; templates are looked up, and a null counts as not given */
  inputValues: values.exactOptional(),
  /** the older name of `inputValues` */
  args: values.exactOptional(),
});
export type DataQueryConfig = z.output<typeof schema>;

export const dataQuery: NodeShape<typeof schema> = {
  type: 'dataQuery',
  defaults: { ...graphDefaults, outputVariable: 'queryResult' },
  announcesStart: true,
  schema,
  handles: () => [mainHandle, errorHandle],
  check: (config) => [...oneOf(config, 'query', 'dataQueryID'), ...atMostOne(config, 'inputValues', 'args')],
};

export const queryOf = ({ query, dataQueryID }: DataQueryConfig): string => query ?? dataQueryID ?? '';
export const argumentsOf = ({ inputValues, args }: DataQueryConfig) => inputValues ?? args ?? {};

type Key = keyof DataQueryConfig;

const oneOf = (config: DataQueryConfig, key: Key, legacyKey: Key): readonly ConfigFinding[] =>
  config[key] === undefined && config[legacyKey] === undefined
    ? [{ code: 'config_invalid', path: [key], message: 'must name a query' }]
    : atMostOne(config, key, legacyKey);

const atMostOne = (config: DataQueryConfig, key: Key, legacyKey: Key): readonly ConfigFinding[] =>
  config[key] === undefined || config[legacyKey] === undefined
    ? []
    : [{ code: 'config_invalid', path: [legacyKey], message: `says the same as ${key}: give one of them` }];
