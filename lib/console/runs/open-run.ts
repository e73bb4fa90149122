import type { RunSummary } from '../api.ts';

/** Whether the run has not ended. */
export const isOpenRun = ({ status }: Pick<RunSummary, 'status'>): boolean => status === 'pending' || status === 'running';
