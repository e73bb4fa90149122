/** How far the deletion of a workflow has come, in words. */
import type { StepwellClient } from '../../client/index.ts';
import { many } from '../words.ts';

export type DeletionProgress = Awaited<ReturnType<StepwellClient['deleteWorkflow']>>['deletion'];

export const progressOf = ({ state, runsFound, runsDeleted }: DeletionProgress): string =>
  state === 'finding_runs' ? `${many(runsFound, 'run')} found so far` : `${runsDeleted} of ${many(runsFound, 'run')} deleted`;
