import { type Answer, jsonText } from '../../pool/answer.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import type { JudgeOutput } from '../../schemas/output.js';

/** In what an answer is not as its helper's `output` says. Bytes never are: documents and agents are told of data. */
export function judgeAnswer(answer: Answer, judgeOutput: JudgeOutput): FieldProblem[] {
  if (answer.kind === 'json') return judgeOutput(JSON.parse(jsonText(answer)));
  return [
    {
      field: 'body',
      problem: `is given (${answer.type}), but output declares data; give data, or no output`,
    },
  ];
}
