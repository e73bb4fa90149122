/** A finding in the config of a node. The path is relative to the config, because a node type does not know the node's position. */
import { type FindingCode, findingCodes } from '../engine/graph/findings.ts';

export interface ConfigFinding {
  readonly code: FindingCode;
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export const isError = ({ code }: ConfigFinding): boolean => findingCodes[code] === 'error';
