/** How far the deletion of a workflow has come, in words. */
import type { StepwellClient } from '../../client/index.ts';
import { quantity } from '../format.ts';

export type DeletionProgress = Awaited<ReturnType<StepwellClient['deleteWorkflow']>>['deletion'];

export const formatDeletionProgress = ({ state, runsFound, runsDeleted }: DeletionProgress): string =>
  state === 'finding_runs'
    ? `${quantity(runsFound, 'run')} found so far`
    : `${runsDeleted} of ${quantity(runsFound, 'run')} deleted`;
