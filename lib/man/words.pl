# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Prose of comments as mdoc: names that are recognised become macros.
use strict;
use warnings;

my %section = (
	eventfd => 2, execve => 2, fork => 2, ioctl => 2, madvise => 2, mmap => 2, mprotect => 2,
	mremap => 2, munmap => 2, close => 2, open => 2, poll => 2,
);

# usage: macro_of(WORD, OWN) (undef for ordinary words; OWN is the function that the page is of)
sub macro_of {
	my ($word, $own) = @_;

	return "Fa $1" if $word =~ /^@([\w>-]+)$/;
	if ($word =~ /^(\w+)\(\)$/) {
		my $name = $1;
		return "Fn $name" if $name eq $own || $name =~ /^[A-Z]/;
		return "Xr $name 3" if $name =~ /^(vpeer|ibv|mlx5dv)_/;
		return $section{$name} ? "Xr $name $section{$name}" : "Fn $name";
	}
	return "Er \\-$1" if $word =~ /^-(E[A-Z]{3,}|E2BIG)$/;
	return "Er $word" if $word =~ /^E(?:[A-Z]{4,}|IO)$/ && $word !~ /^E(VERY|ITHER)/;
	return "Dv $word" if $word =~ /^[A-Z][A-Z0-9]*_[A-Z0-9_]*\*?$/ || $word =~ /^SIG[A-Z]{3,}$|^NULL$/;
	return "Vt $1 $2" if $word =~ /^(struct|enum)\001(\w+)$/;
	return "Pa $word" if $word =~ m{^/(?:dev|sys|proc)/\S*\w$};
	return 'Ql ' . ($1 =~ tr/\001/ /r) if $word =~ /^'(.*)'$/;
	return undef;
}

sub escape {
	my ($text) = @_;

	$text =~ s/\\/\\e/g;
	$text =~ s/(?<![\w-])-(?=\w)/\\-/g;
	$text =~ s/^([.'])/\\&$1/;
	return $text;
}

# What follows a macro's word: punctuation as arguments of its own, the rest without a space.
sub tail_of {
	my ($tail) = @_;

	return '' if $tail eq '';
	return ' ' . join ' ', split //, $tail if $tail =~ /^[.,:;)?!]+$/;
	return " Ns $tail";
}

# usage: prose(TEXT, OWN) (lines of mdoc, each sentence on lines of its own)
sub prose {
	my ($text, $own) = @_;
	my ($out, $line) = ('', '');
	my $flush = sub {
		$out .= escape($line) . "\n" if $line ne '';
		$line = '';
	};

	$text =~ s/\b(struct|enum) (?=\w)(?!that|which|of)/$1\001/g;
	$text =~ s/(?<!\w)'([^']+)'(?!\w)/"'" . ($1 =~ tr{ }{\001}r) . "'"/ge;
	for my $word (split ' ', $text) {
		my ($open, $core, $tail) = $word =~ /^([("]*)(.*?)((?:'s|[.,:;)"?!])*)$/;
		if (!defined macro_of($core, $own) && $word =~ /^([("]*)(.*\(\))((?:'s|[.,:;)"?!])*)$/) {
			($open, $core, $tail) = ($1, $2, $3);
		}
		my $macro = macro_of($core, $own);
		if (defined $macro) {
			$flush->();
			$out .= '.' . ($open eq '' ? '' : "Pf $open ") . $macro . tail_of($tail) . "\n";
			next;
		}
		$word =~ tr/\001/ /;
		$flush->() if length($line) + length($word) > 76;
		$line .= ($line eq '' ? '' : ' ') . $word;
		$flush->() if $word =~ /[.?!][)"]*$/;
	}
	$flush->();
	return $out;
}

sub literal {
	my ($text) = @_;

	$text =~ s/\\/\\e/g;
	$text =~ s/^([.'])/\\&$1/mg;
	return ".Bd -literal\n$text\n.Ed\n";
}

# usage: tagged([TAG, TEXT]...) (TAG is a macro's line)
sub tagged {
	my ($own, @items) = @_;
	my $out = ".Bl -tag -width Ds\n";

	for my $item (@items) {
		$out .= ".It $item->[0]\n" . prose($item->[1], $own);
	}
	return "$out.El\n";
}

1;
