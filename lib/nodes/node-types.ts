/**
 * The table of node types. A new type is a folder and one line here, plus one line in `runners.ts` if it needs a worker. This file must
 * not import the sandbox or the HTTP client, because the API function bundles it.
 */
import { condition } from './condition/shape.ts';
import { dataQuery } from './data-query/shape.ts';
import { delay } from './delay/shape.ts';
import { end } from './end/shape.ts';
import { http } from './http/shape.ts';
import { javascript } from './javascript/shape.ts';
import { loop } from './loop/shape.ts';
import { lens } from './lens/shape.ts';
import { signal } from './signal/shape.ts';
import { subflow } from './subflow/shape.ts';
import { start } from './start/shape.ts';
import { type NodeType, nodeType } from './node-type.ts';

const all: readonly NodeType[] = [
  nodeType(start),
  nodeType(end),
  nodeType(condition),
  nodeType(javascript),
  nodeType(delay),
  nodeType(http),
  nodeType(dataQuery),
  nodeType(signal),
  nodeType(subflow),
  nodeType(loop),
  nodeType(lens),
];

export const nodeTypes: ReadonlyMap<string, NodeType> = new Map(all.map((each) => [each.type, each]));
