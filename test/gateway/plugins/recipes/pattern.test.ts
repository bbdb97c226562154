import { expect } from 'chai';
import { patternProblem } from '../../../../gateway/plugins/recipes/pattern.js';

describe("a recipe's pattern", () => {
  const right = [
    '^[A-Z]{2}-\\d+$',
    '^\\d{4}-\\d{2}-\\d{2}$',
    '^#[0-9a-f]{3,6}$',
    '^[a-z0-9]+ ?x{5}$',
    '^a\\+b*c?\\?$',
    '^\\p{Lu}[\\w.-]*$',
    '^$',
  ];
  for (const pattern of right) {
    it(`may be ${pattern}`, () => expect(patternProblem(pattern, 100)).to.equal(undefined));
  }

  const wrong = [
    ...[
      '(a+)+$',
      '^(a+)+$',
      '^(a|a)*$',
      '^(?:a|ab){9}$',
      '^a*a*a*$',
      '^a?b{1,2}c+$',
      '^(.)\\1$',
      '^(?=a)a$',
      '^a|b$',
      'a+$',
      '^a+',
      '^[a$',
    ],
    ...['^a**$', '(', '^a\\$', '^[a-z]{1,2}{3}$', '^\\b\\k<x>$'],
  ];
  for (const pattern of wrong) {
    it(`may not be ${pattern}`, () => expect(patternProblem(pattern, 100)).to.match(/^must be/));
  }

  it('needs a bound of the text', () => {
    expect(patternProblem('^a+$', 101)).to.match(/maxLength of at most 100/);
    expect(patternProblem('^a+$', undefined)).to.match(/maxLength/);
  });

  it('takes some milliseconds at worst', () => {
    // What is not refused before it is matched has twice the characters at most.
    for (const pattern of ['^a*a*a{99}b$', '^.*.*[ab]{200}c$', '^a{1,999}[ab]+aaab$']) {
      expect(patternProblem(pattern, 100)).to.equal(undefined);
      const expression = new RegExp(pattern, 'u');
      expression.test('a');
      const start = performance.now();
      expect(expression.test('a'.repeat(200))).to.equal(false);
      expect(performance.now() - start).to.be.below(100);
    }
  });
});
