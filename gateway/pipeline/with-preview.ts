import type { Answer } from '../../pool/answer.js';
import type { BodyAnswer } from '../../pool/body-answer.js';
import { after } from '../after.js';
import { type AdmittedCall, runTask } from './run-task.js';
import type { LastStage } from './stage.js';

/** What is to be shown of an answer to one who cannot take every picture as it is. */
export interface Shown {
  /** Whether an answer is a picture that has to be made smaller, or another. */
  needsPreview(answer: BodyAnswer): boolean;
  /** Bytes of a preview at most. */
  maxBytes: number;
  /** Set where one was made. */
  preview?: BodyAnswer;
}

/**
 * The same last stage, which makes a preview of a picture too, in the call's own turn, where `shown` asks for one. It answers with
 * the whole all the same: that no preview could be made of it fails no call.
 */
export function withPreview<Needs extends AdmittedCall>(
  last: LastStage<Needs>,
): LastStage<Needs & { readonly shown?: Shown | undefined }> {
  return function withPreview(call) {
    return after(last(call), (answer) => {
      const { shown } = call;
      return shown && answer.kind === 'bytes' && shown.needsPreview(answer)
        ? preview(call, shown, answer)
        : answer;
    });
  };
}

async function preview(call: AdmittedCall, shown: Shown, answer: BodyAnswer): Promise<Answer> {
  const task = { kind: 'preview', bytes: answer.bytes, maxBytes: shown.maxBytes } as const;
  const outcome = await runTask(call, task).catch(() => undefined);
  if (outcome?.ok) shown.preview = outcome.value;
  return answer;
}
