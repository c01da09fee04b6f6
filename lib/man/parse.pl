# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Reads declarations and their kernel-doc.
use strict;
use warnings;

sub slurp {
	my ($path) = @_;

	open my $file, '<', $path or die "$path: $!\n";
	local $/ = undef;
	my $text = <$file>;
	close $file;
	return $text;
}

# Lines without what starts each line of a comment; indentation stays.
sub comment_lines {
	my ($comment) = @_;

	return map { s/^ \* ?//r } split /\n/, $comment;
}

# A description: its arguments, paragraphs, "Return:" and "Example:", each once at most.
sub parse_doc {
	my ($comment) = @_;
	my @lines = comment_lines($comment);
	my %doc = (arguments => [], paragraphs => [], example => '');
	my $place;

	$doc{head} = shift @lines;
	for my $line (@lines) {
		if ($line =~ /^@(\w+):\s*(.*)/) {
			push @{$doc{arguments}}, { name => $1, text => $2 };
			$place = \$doc{arguments}[-1]{text};
		} elsif ($line =~ /^Return: (.*)/) {
			$doc{return} = $1;
			$place = \$doc{return};
		} elsif ($line eq 'Example:') {
			$place = \$doc{example};
		} elsif ($place && $place == \$doc{example}) {
			$doc{example} .= ($line =~ s/^\t//r) . "\n";
		} elsif ($line =~ /^\s*$/) {
			$place = undef;
		} elsif ($place) {
			$$place .= ' ' . $line =~ s/^\s+//r;
		} else {
			push @{$doc{paragraphs}}, $line;
			$place = \$doc{paragraphs}[-1];
		}
	}
	$doc{example} =~ s/^\n+|\n+$//g;
	return \%doc;
}

# "type name" of each argument; none for void.
sub split_arguments {
	my ($text) = @_;

	return () if $text eq 'void';
	return map { my ($name) = /(\w+)(?:\[\w*\])?$/; { name => $name, declaration => $_ } }
		map { s/^\s+|\s+$//gr } split /,/, $text;
}

sub parse_function {
	my ($declaration) = @_;

	$declaration =~ s/\s+/ /g;
	$declaration =~ s/ VPEER_NO_ACCESS\(\d\);$/;/;
	$declaration =~ /^VPEER_EXPORT (.*?)(\w+)\((.*)\);$/ or die "'$declaration': no function\n";
	my ($type, $name, $arguments) = ($1, $2, $3);
	$type =~ s/\s+$//;
	return { name => $name, type => $type, arguments => [split_arguments($arguments)] };
}

sub parse_struct {
	my ($declaration) = @_;
	my ($name, $body) = $declaration =~ /^struct (\w+) \{\n(.*)\};$/s;
	my @members;

	while ($body =~ /([^;]+);/g) {
		my $member = $1;
		if ($member =~ /\(\*(\w+)\)\(/) {
			push @members, { name => $1 };
		} else {
			push @members, { name => $1 } while $member =~ /(\w+)(?:\[\w+\])?\s*(?:,|$)/g;
		}
	}
	return { name => $name, declaration => $declaration, arguments => \@members };
}

sub parse_enums {
	my ($api, $text) = @_;

	while ($text =~ m{(?:/\*+\n?([^/]*?)\*/\n)?enum (\w+) \{\n(.*?)\n\};}sg) {
		my ($comment, $name, $body) = ($1 // '', $2, $3);
		my @values;
		while ($body =~ m{(\w+) = (\w+),(?:[ \t]*/\* (.*?) \*/)?}g) {
			push @values, { name => $1, value => $2, text => $3 // '' };
		}
		$comment = join ' ', map { s/^[ *]+|\s+$//gr } split /\n/, $comment;
		$api->{enums}{$name} = { name => $name, about => $comment, values => \@values };
		push @{$api->{enum_order}}, $name;
	}
}

sub parse_defines {
	my ($api, $text) = @_;

	while ($text =~ m{^#define (VPEER_\w+)[ \t]+([^\n/]+?)[ \t]*(?:/\* (.*?) \*/)?$}mg) {
		push @{$api->{defines}}, { name => $1, value => $2, text => $3 // '' };
	}
}

sub parse_documented {
	my ($api, $text) = @_;

	while ($text =~ m{/\*\*\n(.*?)\n \*/\n(struct \w+ \{.*?\n\};|VPEER_EXPORT [^;]*;)}sg) {
		my ($comment, $declaration) = ($1, $2);
		next if $comment =~ m{\*/};
		my $item = $declaration =~ /^struct/ ? parse_struct($declaration) : parse_function($declaration);
		my $kind = $declaration =~ /^struct/ ? 'structs' : 'functions';
		$item->{doc} = parse_doc($comment);
		$api->{$kind}{$item->{name}} = $item;
		push @{$api->{"${kind}_order"}}, $item->{name};
	}
}

sub parse_headers {
	my %api = (functions => {}, structs => {}, enums => {}, defines => [], declared => []);

	for my $path (@_) {
		my $text = slurp($path);
		$text =~ s{/\*\*\n \* DOC:.*?\*/\n}{}sg;
		parse_documented(\%api, $text);
		parse_enums(\%api, $text);
		parse_defines(\%api, $text);
		push @{$api{declared}}, $text =~ /^VPEER_EXPORT [^;(]*?(\w+)\(/mg;
	}
	return \%api;
}

sub check_item {
	my ($what, $item) = @_;
	my $doc = $item->{doc};
	my %there = map { $_->{name} => 1 } @{$item->{arguments}};
	my %said;
	my @wrong;

	$doc->{head} =~ /^(?:struct )?\Q$item->{name}\E(?:\(\))? - \S/ or
		push @wrong, "$what: is described as: $doc->{head}";
	for my $argument (@{$doc->{arguments}}) {
		my $name = $argument->{name};
		$there{$name} or push @wrong, "$what: has no \@$name, which is described";
		$said{$name}++ and push @wrong, "$what: \@$name is described twice";
		$argument->{text} =~ /\S/ or push @wrong, "$what: nothing is said of \@$name";
	}
	for my $argument (@{$item->{arguments}}) {
		$said{$argument->{name}} or $argument->{name} eq 'reserved' or
			push @wrong, "$what: \@$argument->{name} is not described";
	}
	return @wrong;
}

# What is wrong with the descriptions, a line each.
sub check_documented {
	my ($api) = @_;
	my @wrong;

	for my $name (@{$api->{declared}}) {
		my $function = $api->{functions}{$name};
		if (!$function) {
			push @wrong, "$name(): is not described";
			next;
		}
		push @wrong, check_item("$name()", $function);
		push @wrong, "$name(): what it returns is not described"
			if $function->{type} ne 'void' && !$function->{doc}{return};
	}
	push @wrong, check_item("struct $_", $api->{structs}{$_}) for @{$api->{structs_order}};
	return @wrong;
}

1;
