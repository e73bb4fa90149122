/** Writes when the sweep must look at a run next. A test run notes it too, so that it can be forgotten whole. */
import { defined } from '../../engine/defined.ts';
import { type Head, isTestRun } from '../../engine/log/head.ts';
import { minuteOf } from '../../engine/log/heartbeat-timeout.ts';
import type { Instant } from '../../engine/time.ts';
import type { Deps } from '../deps.ts';

export const markDue = ({ index }: Pick<Deps, 'index'>, head: Head, at: Instant): Promise<void> =>
  index.markDue(defined({ run: head.address, minute: minuteOf(at), isRecordedOnRun: isTestRun(head) ? true : undefined }));
