/** Jobs by an invocation of the function that executes them, instead of a message of its queue. */
import * as z from 'zod';
import type { Job, WorkJob } from '../ports/jobs.ts';
import { jobBody, parseJob } from './jobs.ts';

const callEvent = z.object({ jobCall: z.string() });

/** SQS sets the fields of its events, so a message cannot imitate a call. */
export const isJobCall = (event: object): boolean => 'jobCall' in event;

export const writeJobCall = (job: WorkJob): string => JSON.stringify({ jobCall: jobBody(job) });

export const parseJobCall = (event: unknown): Job => parseJob(callEvent.parse(event).jobCall);
