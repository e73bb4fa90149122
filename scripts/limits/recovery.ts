/** Limits of heartbeats, rechecks and the sweep. */
import { crashWindow, maxCrashes, maxRedeliveryPause } from '../../lib/engine/log/deliveries.ts';
import {
  baseHeartbeatTimeout,
  deadlineLead,
  maxHeartbeatTimeout,
  maxSignalCheckInterval,
  maxSlotCheckInterval,
  minSignalCheckInterval,
  recheckLead,
  timerGrace,
  workingCheckInterval,
} from '../../lib/engine/log/heartbeat-timeout.ts';
import { firstCheckDelay } from '../../lib/service/commit/mark-due.ts';
import { recheckDelay } from '../../lib/service/commit/schedule-message.ts';
import { deletionTimeBudget, settlingTime } from '../../lib/service/deletions/continue-deletions.ts';
import { maxNotifiedRuns } from '../../lib/service/execution/reconcile-slot.ts';
import { secondCheckMinutes } from '../../lib/service/execution/sweep-runs.ts';
import { attemptHeartbeatInterval, cancelCheckInterval } from '../../lib/service/execution/heartbeat-loop.ts';
import { type LimitSection, count, hours, minute, minutes, seconds } from './limit.ts';

export const recovery: LimitSection = {
  title: 'Recovery',
  per: 'run',
  limits: [
    {
      name: 'Heartbeat of an attempt',
      value: seconds(attemptHeartbeatInterval),
      per: 'attempt',
      atLimit: 'the interval of the heartbeats of a running node',
      definedIn: ['lib/service/execution/heartbeat-loop.ts'],
    },
    {
      name: 'Check for a cancel',
      value: seconds(cancelCheckInterval),
      per: 'attempt',
      atLimit: 'a running node sees a cancel within this time, and stops',
      definedIn: ['lib/service/execution/heartbeat-loop.ts'],
    },
    {
      name: 'First heartbeat timeout',
      value: seconds(baseHeartbeatTimeout),
      per: 'attempt',
      atLimit: 'Stepwell redispatches a node after this time without a heartbeat',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Longest heartbeat timeout',
      value: minutes(maxHeartbeatTimeout),
      per: 'attempt',
      atLimit: 'the timeout doubles with each redispatch, up to this',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Worker crashes in one attempt',
      value: count(maxCrashes),
      per: 'attempt',
      atLimit: 'the attempt fails with the cause `lost` and the code `recovery_error`',
      definedIn: ['lib/engine/log/deliveries.ts'],
    },
    {
      name: 'Window of lost deliveries of one attempt',
      value: hours(crashWindow),
      per: 'attempt',
      atLimit: 'after this time, three worker crashes fail the attempt, and so do five losses without a known cause',
      definedIn: ['lib/engine/log/deliveries.ts'],
    },
    {
      name: 'Pause after a worker crash',
      value: minutes(maxRedeliveryPause),
      per: 'attempt',
      atLimit: 'the pause begins at 100 s and doubles with each loss up to this, plus up to the same again at random',
      definedIn: ['lib/engine/log/deliveries.ts'],
    },
    {
      name: 'Check by the sweep before a deadline',
      value: minutes(deadlineLead),
      atLimit: 'the sweep sends a delayed recheck that arrives at the deadline',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Check by the sweep of a working run',
      value: minutes(workingCheckInterval),
      atLimit: 'the sweep reads the run, and redispatches attempts whose heartbeat timed out',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Check by the sweep after a request',
      value: minutes(firstCheckDelay),
      atLimit: 'the sweep reads a run that a cancel, wake, resume or signal has changed, in case its process died',
      definedIn: ['lib/service/commit/mark-due.ts'],
    },
    {
      name: 'Grace of a timer',
      value: seconds(timerGrace),
      per: 'timer',
      atLimit: 'the sweep wakes a sleeping run that is later than this',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Check by the sweep of a waiting run',
      value: minutes(minSignalCheckInterval),
      atLimit: 'for a run that waits for a signal or a subflow. The interval is as long as the wait so far, up to 6 h',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Check by the sweep of a run that waits for a slot',
      value: minutes(maxSlotCheckInterval),
      atLimit: 'the interval is as long as the wait so far, from 2 min up to this',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Second check for a missing run',
      value: minutes(secondCheckMinutes * minute),
      atLimit:
        'the sweep checks again a run that did not exist at the first check: its start may have been suspended before it wrote the head',
      definedIn: ['lib/service/execution/sweep-runs.ts'],
    },
    {
      name: 'Runs notified of free slots',
      value: count(maxNotifiedRuns),
      per: 'workflow',
      atLimit: 'the runs that have waited longest. Stepwell notifies the others after these have their slots',
      definedIn: ['lib/service/execution/reconcile-slot.ts'],
    },
    {
      name: 'First recheck of a wait',
      value: seconds(baseHeartbeatTimeout),
      atLimit: 'a check within this time after the last one does not query the same called run or timer again',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Longest time between rechecks',
      value: hours(maxSignalCheckInterval),
      atLimit: 'the interval of these checks is as long as the wait so far, up to this',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Rechecks that are combined',
      value: seconds(recheckLead),
      atLimit: 'Stepwell sends one recheck for all requests within this time',
      definedIn: ['lib/engine/log/heartbeat-timeout.ts'],
    },
    {
      name: 'Delay of a recheck',
      value: seconds(recheckDelay),
      atLimit: 'a worker that finds an attempt held by another worker checks the run again after this time',
      definedIn: ['lib/service/commit/schedule-message.ts'],
    },
    {
      name: 'Time for deletions in a sweep',
      value: seconds(deletionTimeBudget),
      per: 'sweep',
      atLimit: 'the next sweep continues the deletions',
      definedIn: ['lib/service/deletions/continue-deletions.ts'],
    },
    {
      name: 'Waiting time of a deletion',
      value: minutes(settlingTime),
      per: 'deletion',
      atLimit: 'then Stepwell looks for late runs, and deletes the versions',
      definedIn: ['lib/service/deletions/continue-deletions.ts'],
    },
  ],
};
