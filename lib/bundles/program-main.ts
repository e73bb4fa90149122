/** The inside of the thread of a deployment of code. */
import { startWorkflowTask } from '../program/start-workflow-task.ts';
import { capturePrinted } from '../program/printed.ts';
import { serveWorkflowTasks } from './serve-workflow-tasks.ts';

void serveWorkflowTasks({ startWorkflowTask, capturePrinted });
