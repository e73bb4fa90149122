/** What is wrong with the config of a node. The place is still below the config: a type does not know where its node stands. */
import { type FindingCode, findingCodes } from '../engine/graph/findings.ts';

export interface ConfigFinding {
  readonly code: FindingCode;
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export const isError = ({ code }: ConfigFinding): boolean => findingCodes[code] === 'error';
