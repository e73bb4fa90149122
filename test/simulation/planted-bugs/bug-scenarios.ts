/**
 * Known failure scenarios of a protocol of logs, queues and timers, each with the planted bugs that remove the rule against it.
 * The simulation must catch each bug, and must pass with the same faults when the rule is in place.
 */
export interface BugScenario {
  readonly description: string;
  /** names of planted bugs */
  readonly bugs: readonly string[];
}

export const bugScenarios: readonly BugScenario[] = [
  {
    description: 'Without any fault, a message arrives before the cached fold of its receiver contains the requested node',
    bugs: ['a cached fold older than its message is used'],
  },
  {
    description: 'A start is acknowledged although its run does not exist, or a head contradicts its log',
    bugs: ['a start is acknowledged before its run exists', 'the end of a run is not projected to its head'],
  },
  {
    description: 'The process that creates a run crashes, and no sweep has the run in its list',
    bugs: ['a new run is not scheduled for a sweep', 'a run is scheduled for a sweep only after it exists'],
  },
  {
    description: 'Timers are lost, late or duplicated while processes crash and reads are incomplete',
    bugs: ['a sleeping run with a lost timer is not woken'],
  },
  {
    description:
      'The sweep evaluates a run as a whole: a running branch hides a crashed one, or a crashed branch causes a second execution of a healthy one',
    bugs: ['the heartbeat of one node counts for all nodes of the run', 'each node counts as timed out at once'],
  },
  { description: 'Healthy runs wait behind a backlog', bugs: ['a heartbeat timeout fails the node'] },
  {
    description: 'A late duplicate arrives in a wide fan-out, and all open nodes are sent again',
    bugs: ['each node counts as timed out at once', 'each delivery runs its attempt twice'],
  },
  {
    description: 'A child run ends, and its process crashes before it notifies the parent',
    bugs: ['a parent is not notified of the end of its child run', 'the sweep does not repeat the finalization of an ended run'],
  },
  {
    description: 'The API commits a signal to a waiting run and crashes before it sends the messages',
    bugs: ['an API request changes a run without scheduling a check'],
  },
  {
    description: 'The code decides a race again after its command batch lost its put',
    bugs: ['a command batch that lost its put is decided again'],
  },
  {
    description: 'The response to a put is lost, and the worker does not recognize its own commit',
    bugs: ['each retry of a put gets a new nonce', 'a worker does not recognize its own commit'],
  },
  { description: 'A read of the log misses a commit in the middle', bugs: ['a log with a missing commit is folded'] },
];
