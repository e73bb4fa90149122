/**
 * Data query node: runs a stored query. The query defines the statement, the connection and the limits; the node names the query
 * and its arguments.
 */
import * as z from 'zod';
import { errorHandle, mainHandle } from '../../engine/graph/outcome.ts';
import { queryNamePattern } from '../../engine/ids.ts';
import { type ConfigFinding, jsonValue } from '../config-values.ts';
import type { NodeShape } from '../node-type.ts';
import { graphDefaults } from '../settings.ts';

const name = z.string().regex(queryNamePattern, 'must be the name of a query');
const values = z.record(z.string(), jsonValue);

const schema = z.object({
  query: name.exactOptional(),
  /** older name of `query` */
  dataQueryID: name.exactOptional(),
  /** absent: the latest version when the node runs */
  version: z.int().min(1).exactOptional(),
  /** arguments by parameter name; templates are resolved, and null counts as absent */
  inputValues: values.exactOptional(),
  /** older name of `inputValues` */
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
    : [{ code: 'config_invalid', path: [legacyKey], message: `duplicates ${key}: set only one of them` }];
